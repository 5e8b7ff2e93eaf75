import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import TransferProtocol

/// Reads the content and upload fields of a request head.
enum UploadHead {
    /// The fields of connection, framing and resumable uploads, which the handler doesn't see.
    static let ownFields: Set<HTTPField.Name> = {
        let others = [
            "Upload-Complete", "Upload-Incomplete", "Upload-Offset", "Upload-Length", "Upload-Limit", "Expect",
        ]
        return Set(others.compactMap { HTTPField.Name($0) })
            .union([.contentLength, .transferEncoding, .connection, .uploadDraftInteropVersion])
    }()

    /// The content length, if declared. HTTP/2 doesn't require the field.
    static func contentLength(of fields: HTTPFields) -> Int64? {
        fields[.contentLength].map { ContentLength.parse($0) ?? .max }
    }

    /// Whether the client waits for a 100 before it sends content (RFC 9110, section 10.1.1).
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
