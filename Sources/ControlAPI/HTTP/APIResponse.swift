import FaultProfile
import HTTPTypes

/// A response of the control server.
package struct APIResponse: Sendable {
    package var status: Int
    /// The header fields, without the length.
    package var fields: HTTPFields
    /// The content.
    package var body: Body

    package enum Body: Sendable {
        case bytes([UInt8])
        /// Parts that are sent as they come, until the stream or the connection ends.
        case stream(AsyncStream<[UInt8]>)
    }

    init(_ status: Int, type: String? = nil, text: String = "") {
        self.status = status
        fields = [:]
        if let type { fields[.contentType] = type }
        body = .bytes(Array(text.utf8))
    }

    /// A response with compact JSON, without a line end.
    static func json(_ value: JSONText, status: Int = 200) -> APIResponse {
        APIResponse(status, type: "application/json", text: value.compact)
    }
}
