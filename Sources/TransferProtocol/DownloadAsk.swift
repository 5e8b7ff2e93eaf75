import HTTPSemantics
import HTTPTypes

/// What the next request of a download asks for.
public enum DownloadAsk: Hashable, Sendable {
    /// The whole representation, without a range. The reason is `nil` when nothing was held before.
    case whole(DownloadRestartReason?)
    /// The bytes from `offset` on, provided that the representation is still the one that the validator names.
    case rest(from: Int64, DownloadValidator)
    /// These bytes once more, under the same condition: what is held in their place isn't what came.
    case block(Range<Int64>, DownloadValidator)
    /// The head alone, to learn whether the bytes that are held are the whole.
    case probe

    /// The request's method.
    public var method: HTTPRequest.Method {
        switch self {
        case .whole, .rest, .block: .get
        case .probe: .head
        }
    }

    /// Whether bytes are asked for that belong to those that are held: a range, under a condition.
    public var isOfHeld: Bool {
        switch self {
        case .rest, .block: true
        case .whole, .probe: false
        }
    }

    /// The request's own header fields.
    ///
    /// No coding is accepted, for an offset into a coded representation is another offset; the digest of the whole is
    /// asked for (RFC 9530); and nothing more is sent over the connection.
    public var fields: HTTPFields {
        var fields: HTTPFields = [
            .accept: "*/*",
            .acceptEncoding: "identity",
            .userAgent: "squall",
            .wantReprDigest: WantReprDigest(sha256Preference: 9).headerValue,
        ]
        switch self {
        case .whole, .probe: break
        case .rest(let offset, let validator):
            fields[.range] = "bytes=\(offset)-"
            fields[.ifRange] = validator.headerValue
        case .block(let range, let validator):
            fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
            fields[.ifRange] = validator.headerValue
        }
        return fields
    }
}

/// What a download does next.
public enum DownloadStep: Hashable, Sendable {
    /// Send this request.
    case ask(DownloadAsk)
    /// Nothing is missing: check the digest and put the file in its place.
    case finish
}
