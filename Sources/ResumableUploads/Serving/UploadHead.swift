import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import TransferProtocol

/// What the head of a request says of its content and of its upload.
enum UploadHead {
    /// The fields that concern the connection, the framing, or resumable uploads. A handler of whole uploads doesn't see them.
    static let ownFields: Set<HTTPField.Name> = {
        let others = [
            "Upload-Complete", "Upload-Incomplete", "Upload-Offset", "Upload-Length", "Upload-Limit", "Expect",
        ]
        return Set(others.compactMap { HTTPField.Name($0) })
            .union([.contentLength, .transferEncoding, .connection, .uploadDraftInteropVersion])
    }()

    /// The bytes of the content, if the head tells. By HTTP/2 content needs no such field.
    static func contentLength(of fields: HTTPFields) -> Int64? {
        fields[.contentLength].map { ContentLength.parse($0) ?? .max }
    }

    /// Whether the client waits for a 100 before it sends (RFC 9110, section 10.1.1).
    static func expectsContinue(_ fields: HTTPFields) -> Bool {
        HTTPField.Name("Expect").flatMap { fields[$0] }?.lowercased() == "100-continue"
    }

    /// Whether the client wants the connection closed after the response (RFC 9112, section 9.6).
    static func endsConnection(_ fields: HTTPFields) -> Bool {
        fields[values: .connection].contains { value in
            value.split { $0 == "," || $0 == " " || $0 == "\t" }.contains { $0.lowercased() == "close" }
        }
    }

    static func secondsSince1970() -> Int64 { Int64(Date().timeIntervalSince1970) }
}
