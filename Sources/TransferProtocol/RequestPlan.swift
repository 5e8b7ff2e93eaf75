import HTTPSemantics
import HTTPTypes

/// The next request of a download.
public enum RequestPlan: Hashable, Sendable {
    /// A request without a range. The reason is `nil` when nothing had been received.
    case full(RestartReason?)
    /// The bytes from an offset on, under this condition.
    case remaining(from: Int64, RangeCondition)
    /// These bytes again: they were damaged on disk.
    case block(Range<Int64>, RangeCondition)
    /// A HEAD, to learn whether the received bytes are the complete representation.
    case probe

    /// The request's method.
    public var method: HTTPRequest.Method {
        switch self {
        case .full, .remaining, .block: .get
        case .probe: .head
        }
    }

    /// The condition of a range request; `nil` for a request without a range.
    public var condition: RangeCondition? {
        switch self {
        case .remaining(_, let condition), .block(_, let condition): condition
        case .full, .probe: nil
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
        case .remaining(let offset, _): fields[.range] = "bytes=\(offset)-"
        case .block(let range, _): fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
        }
        switch condition {
        case .ifRange(let validator): fields[.ifRange] = validator.headerValue
        case .unmodifiedSince(let date): fields[.ifUnmodifiedSince] = date
        case nil, .unconditional: break
        }
        return fields
    }
}

/// The condition under which a range is requested.
public enum RangeCondition: Hashable, Sendable {
    /// The representation still has this strong validator, else all of it (RFC 9110, section 13.1.5).
    case ifRange(DownloadValidator)
    /// The representation hasn't changed since this `Last-Modified`, else 412 (RFC 9110, section 13.1.4). Only a strong
    /// validator may be in `If-Range`.
    case unmodifiedSince(String)
    /// None: there is no validator, or the server ignores ranges with a condition.
    case unconditional
}

/// The next step of a download.
public enum DownloadStep: Hashable, Sendable {
    /// Send this request.
    case send(RequestPlan)
    /// Nothing is missing: verify the digest and rename the file.
    case finish
}

extension TransferURL {
    /// The head of a request for this URL.
    package func request(_ method: HTTPRequest.Method, _ fields: HTTPFields) -> HTTPRequest {
        HTTPRequest(
            method: method,
            scheme: scheme.rawValue,
            authority: authority,
            path: target,
            headerFields: fields
        )
    }
}

extension HTTPFields {
    /// The fields with `others` added, which replace those of the same name.
    package func replacing(_ others: [HTTPField]) -> HTTPFields {
        var fields = self
        for field in others { fields[fields: field.name] = others.filter { $0.name == field.name } }
        return fields
    }
}
