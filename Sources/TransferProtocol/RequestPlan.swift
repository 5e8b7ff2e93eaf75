import HTTPSemantics
import HTTPTypes

/// The next request of a download.
public enum RequestPlan: Hashable, Sendable {
    /// A request without a range. The reason is `nil` when nothing had been received.
    case full(DownloadRestartReason?)
    /// The bytes from `offset` on, if the representation still matches the validator.
    case remaining(from: Int64, DownloadValidator)
    /// These bytes again, under the same condition: they were damaged on disk.
    case block(Range<Int64>, DownloadValidator)
    /// A HEAD, to learn whether the received bytes are the complete representation.
    case probe

    /// The request's method.
    public var method: HTTPRequest.Method {
        switch self {
        case .full, .remaining, .block: .get
        case .probe: .head
        }
    }

    /// Whether the request is conditional on the received bytes: a range with `If-Range`.
    public var isConditionalRange: Bool {
        switch self {
        case .remaining, .block: true
        case .full, .probe: false
        }
    }

    /// The request-specific header fields.
    ///
    /// Only `identity` is accepted, since offsets into an encoded representation differ. A digest of the full
    /// representation is requested (RFC 9530).
    public var fields: HTTPFields {
        var fields: HTTPFields = [
            .accept: "*/*",
            .acceptEncoding: "identity",
            .userAgent: "squall",
            .wantReprDigest: WantReprDigest(sha256Preference: 9).headerValue,
        ]
        switch self {
        case .full, .probe: break
        case .remaining(let offset, let validator):
            fields[.range] = "bytes=\(offset)-"
            fields[.ifRange] = validator.headerValue
        case .block(let range, let validator):
            fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
            fields[.ifRange] = validator.headerValue
        }
        return fields
    }
}

/// The next step of a download.
public enum DownloadStep: Hashable, Sendable {
    /// Send this request.
    case send(RequestPlan)
    /// Nothing is missing: verify the digest and rename the file.
    case finish
}
