/// An interim response (RFC 9110, section 15.2).
public struct InterimResponse: Hashable, Sendable {
    /// The status, such as 102, 103 (RFC 8297) or 104.
    public var status: Int
    /// The header fields, in order.
    public var headers: HTTPFields

    /// Makes a response, for tests.
    public init(status: Int, headers: HTTPFields = [:]) {
        (self.status, self.headers) = (status, headers)
    }
}
