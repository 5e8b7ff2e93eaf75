/// An interim response (RFC 9110, section 15.2).
public struct InterimResponse: Hashable, Sendable {
    /// The status, such as 102, 103 (RFC 8297) or 104.
    public var status: Int
    /// The header fields, in order.
    public var headers: HTTPFields

    init(_ status: Int, _ fields: HTTPFields) {
        (self.status, headers) = (status, fields)
    }
}
