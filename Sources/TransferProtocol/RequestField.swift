import HTTPTypes

/// A header field that the caller adds to the requests of a transfer (RFC 9110, section 5).
public struct RequestField: Hashable, Sendable, Confidential {
    /// The bytes of a value that are taken: 8,192.
    public static let longestValue = 8_192
    /// The fields that a transfer takes: 64.
    public static let most = 64

    /// The fields that the client needs for itself: those of the connection and its framing, of the range and its
    /// conditions, and the ones by which it makes sure that it gets the bytes of the file. `Host` is the URL's, which
    /// says what a partial file may be continued with. `Proxy-Authorization` is for the proxy alone, and no server may see it.
    static let governed: Set<String> = [
        "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "proxy-authorization",
        "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade", "want-content-digest",
        "want-repr-digest",
    ]
    /// The fields that an upload needs for itself in addition: those of the drafts, and of what is uploaded.
    static let governedByUploads: Set<String> = [
        "content-range", "content-type", "location", "repr-digest", "upload-complete", "upload-draft-interop-version",
        "upload-incomplete", "upload-length", "upload-limit", "upload-offset",
    ]
    /// The fields that tell nothing of the caller but what is wanted, so that another origin may have them.
    private static let harmless: Set<String> = ["accept", "accept-language", "user-agent"]

    let name: HTTPField.Name
    let value: String

    /// Reads `Name: value`; the value may be empty, and loses the white space around it.
    public init(_ line: String, isForUpload: Bool = false) throws(RequestFieldProblem) {
        guard let colon = line.firstIndex(of: ":") else { throw .noColon }
        guard let name = HTTPField.Name(String(line[..<colon])), !name.isPseudo else { throw .invalidName }
        guard !Self.governed.contains(name.canonicalName),
            !isForUpload || !Self.governedByUploads.contains(name.canonicalName)
        else { throw .governed(name.canonicalName) }
        let blanks: [Character] = [" ", "\t"]
        var value = line[line.index(after: colon)...].drop { blanks.contains($0) }
        while value.last.map(blanks.contains) == true { value.removeLast() }
        guard value.utf8.count <= Self.longestValue else { throw .tooLong }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { throw .invalidValue }
        self.name = name
        self.value = String(value)
    }

    /// Whether it takes the place of credentials of `BasicCredentials`.
    public var isAuthorization: Bool { name == .authorization }

    /// Whether an origin may have it that the caller didn't name.
    var isHarmless: Bool { Self.harmless.contains(name.canonicalName) }
}

extension HTTPField.Name {
    fileprivate var isPseudo: Bool { rawName.hasPrefix(":") }
}

/// Why a text isn't a field that the caller may add. It repeats nothing of the value.
public enum RequestFieldProblem: Error, Hashable, Sendable {
    /// There is no colon.
    case noColon
    /// What stands in front of the colon is no token (RFC 9110, section 5.6.2).
    case invalidName
    /// The value has a control character.
    case invalidValue
    /// The client needs the field of this name, in lower case, for itself.
    case governed(String)
    /// The value is longer than `RequestField.longestValue`.
    case tooLong
}
