import HTTPSemantics
import HTTPTypes

/// The head of a final response, as far as a download looks at it.
public struct DownloadResponseHead: Hashable, Sendable {
    /// The status code, 100 to 999.
    public var status: Int
    /// The header fields. A field that came in several lines is read as the lines joined with commas, so a doubled
    /// `ETag` or `Content-Range` is no valid value and counts as absent.
    public var fields: HTTPFields
    /// Whether the end of a body is marked whatever the fields say, as in HTTP/2.
    public var isEndMarked: Bool
    /// Whether another resource answered than the one that the held bytes came from. Its validators then say nothing
    /// of those bytes: they tell the states of one resource apart (RFC 9110, section 8.8.3).
    public var isFromElsewhere: Bool
    /// Whether the request carried credentials.
    public var credentialUse: CredentialUse

    /// Makes a head.
    public init(
        status: Int,
        fields: HTTPFields,
        isEndMarked: Bool = false,
        isFromElsewhere: Bool = false,
        credentialUse: CredentialUse = .none
    ) {
        self.status = status
        self.fields = fields
        self.isEndMarked = isEndMarked
        self.isFromElsewhere = isFromElsewhere
        self.credentialUse = credentialUse
    }

    /// The framing of the body (RFC 9112, section 6.3; RFC 9113, section 8.1).
    public var framing: DownloadFraming {
        if isEndMarked { return contentLength.map { .length($0) } ?? .chunked }
        if let coding = fields[.transferEncoding] {
            return coding.lowercased() == "chunked" ? .chunked : .unsupported(coding)
        }
        guard let length = contentLength else { return .untilClose }
        return .length(length)
    }

    /// `Content-Length`, or `nil` when it is absent or no number below 2^63.
    public var contentLength: Int64? {
        guard let value = fields[.contentLength], !value.isEmpty, value.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return Int64(value)
    }

    /// `Content-Range`, or `nil` when it is absent or invalid.
    public var contentRange: ContentRange? {
        fields[.contentRange].flatMap { ContentRange($0) }
    }

    /// `Content-Encoding` in lower case; `nil` for none and for `identity`.
    public var contentEncoding: String? {
        guard let coding = fields[.contentEncoding]?.lowercased(), !coding.isEmpty, coding != "identity" else {
            return nil
        }
        return coding
    }

    /// The least wait that `Retry-After` asks for, as seen from `now`, the wall clock in seconds since 1970.
    func retryAfter(now: Int64) -> Duration? {
        fields[.retryAfter].flatMap { RetryAfter.delay($0, now: now) }
    }

    /// Whether the body is several ranges in one (RFC 9110, section 14.6).
    public var isMultipart: Bool {
        fields[.contentType]?.lowercased().hasPrefix("multipart/byteranges") ?? false
    }
}

/// How a message tells where its body ends (RFC 9112, section 6.3).
public enum DownloadFraming: Hashable, Sendable {
    /// After this many bytes: an earlier end of the connection is noticed.
    case length(Int64)
    /// After the last chunk, or the frame that is marked as the last: an earlier end of the connection is noticed.
    case chunked
    /// With the connection: a cut can't be told from the end.
    case untilClose
    /// With a transfer coding that was never offered; the bytes can't be decoded.
    case unsupported(String)
}
