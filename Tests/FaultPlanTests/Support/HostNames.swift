import FaultProfile

/// A host without a port.
extension HostName: ExpressibleByStringLiteral {
    /// Makes a name without a port.
    public init(stringLiteral text: String) { self.init(text) }
}
