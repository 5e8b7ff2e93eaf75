import FoundationEssentials
import HTTPTypes
import TransferProtocol

/// Reads the content and upload fields of a request head.
enum UploadHead {
    /// The fields of connection, framing and resumable uploads, which the handler doesn't see.
    static let ownFields: Set<HTTPField.Name> = [
        .connection, .contentLength, .expect, .transferEncoding, .uploadComplete, .uploadDraftInteropVersion,
        .uploadIncomplete, .uploadLength, .uploadLimit, .uploadOffset,
    ]

    /// Whether the client wants the connection closed after the response (RFC 9112, section 9.6).
    static func endsConnection(_ fields: HTTPFields) -> Bool { fields.lists("close", in: .connection) }

    static func secondsSince1970() -> Int64 { Int64(Date().timeIntervalSince1970) }
}

extension HTTPRequest {
    /// Whether the client waits for a 100 response before it sends content (RFC 9110, section 10.1.1).
    package var awaitsContinue: Bool { headerFields.lists("100-continue", in: .expect) }
}

extension HTTPFields {
    fileprivate func lists(_ word: String, in name: HTTPField.Name) -> Bool {
        self[values: name].contains { value in
            value.split { $0 == "," || $0 == " " || $0 == "\t" }.contains { $0.lowercased() == word }
        }
    }
}
