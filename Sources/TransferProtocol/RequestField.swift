import HTTPTypes

/// A header field added by the caller (RFC 9110, section 5).
public struct RequestField: Hashable, Sendable, Redacted {
    /// The maximum size of a value: 8,192 bytes.
    public static let maximumValueSize = 8_192
    /// The maximum number of fields: 64.
    public static let maximumCount = 64

    /// Fields reserved for the client: connection and framing, ranges and preconditions, and those that ensure it gets
    /// the file's own bytes. `Host` follows from the URL, which identifies a partial file. `Proxy-Authorization` is for
    /// the proxy only; no server may see it.
    static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "proxy-authorization",
        "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade", "want-content-digest",
        "want-repr-digest",
    ]
    /// Fields also reserved in uploads: those of the drafts and of the representation.
    static let reservedInUploads: Set<String> = [
        "content-range", "content-type", "location", "repr-digest", "upload-complete", "upload-draft-interop-version",
        "upload-incomplete", "upload-length", "upload-limit", "upload-offset",
    ]
    /// Fields without private data, which may be sent cross-origin.
    private static let safeCrossOrigin: Set<String> = ["accept", "accept-language", "user-agent"]

    package let name: HTTPField.Name
    package let value: String

    /// Parses `Name: value`; the value may be empty, and surrounding white space is trimmed.
    public init(_ line: String, isForUpload: Bool = false) throws(RequestFieldProblem) {
        guard let colon = line.firstIndex(of: ":") else { throw .noColon }
        guard let name = HTTPField.Name(String(line[..<colon])), !name.isPseudo else { throw .invalidName }
        guard !Self.reserved.contains(name.canonicalName),
            !isForUpload || !Self.reservedInUploads.contains(name.canonicalName)
        else { throw .reserved(name.canonicalName) }
        let blanks: [Character] = [" ", "\t"]
        var value = line[line.index(after: colon)...].drop { blanks.contains($0) }
        while value.last.map(blanks.contains) == true { value.removeLast() }
        guard value.utf8.count <= Self.maximumValueSize else { throw .tooLong }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { throw .invalidValue }
        self.name = name
        self.value = String(value)
    }

    /// Whether the field replaces `BasicCredentials`.
    public var isAuthorization: Bool { name == .authorization }

    /// Whether the field may be sent to other origins.
    var isSafeCrossOrigin: Bool { Self.safeCrossOrigin.contains(name.canonicalName) }
}

extension HTTPField.Name {
    fileprivate var isPseudo: Bool { rawName.hasPrefix(":") }
}

/// Why a text isn't a valid caller field. Contains nothing of the value.
public enum RequestFieldProblem: Error, Hashable, Sendable {
    /// No colon.
    case noColon
    /// The name isn't a token (RFC 9110, section 5.6.2).
    case invalidName
    /// A control character in the value.
    case invalidValue
    /// The field, in lower case, is reserved for the client.
    case reserved(String)
    /// The value is longer than `RequestField.maximumValueSize`.
    case tooLong
}
