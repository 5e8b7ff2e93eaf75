internal import HTTPTypes

/// The head of an informational response, which came before the final one (RFC 9110, section 15.2).
public struct TransferInformation: Hashable, Sendable {
    /// The status, such as 102, 103 (RFC 8297) or 104.
    public var status: Int
    /// The header fields, in their order.
    public var headers: [TransferHeader]

    init(_ status: Int, _ fields: HTTPFields) {
        self.status = status
        headers = fields.map { TransferHeader($0.name.rawName, $0.value) }
    }
}
