import HTTPSemantics
import HTTPTypes

/// The head of a final response, reduced to what a download needs.
public struct DownloadResponseHead: Hashable, Sendable {
    /// The status code, 100 to 999.
    public var status: Int
    /// The header fields. Repeated lines are joined with commas, so a repeated `ETag` or `Content-Range` is invalid and
    /// counts as absent.
    public var fields: HTTPFields
    /// Whether the protocol delimits the body regardless of the fields, as in HTTP/2.
    public var isSelfDelimited: Bool
    /// Whether another resource responded than the one of the received bytes. Its validators then don't apply: they
    /// identify the states of one resource (RFC 9110, section 8.8.3).
    public var isFromOtherResource: Bool
    /// Whether the request carried credentials.
    public var credentialUse: CredentialUse

    /// Makes a head.
    public init(
        status: Int,
        fields: HTTPFields,
        isSelfDelimited: Bool = false,
        isFromOtherResource: Bool = false,
        credentialUse: CredentialUse = .none
    ) {
        self.status = status
        self.fields = fields
        self.isSelfDelimited = isSelfDelimited
        self.isFromOtherResource = isFromOtherResource
        self.credentialUse = credentialUse
    }

    /// The framing of the body (RFC 9112, section 6.3; RFC 9113, section 8.1).
    public var framing: DownloadFraming {
        if isSelfDelimited { return contentLength.map { .length($0) } ?? .chunked }
        if let coding = fields[.transferEncoding] {
            return coding.lowercased() == "chunked" ? .chunked : .unsupported(coding)
        }
        guard let length = contentLength else { return .untilClose }
        return .length(length)
    }

    /// `Content-Length`; `nil` when absent or not a number below 2^63.
    public var contentLength: Int64? {
        fields[.contentLength].flatMap { ContentLength.parse($0) }
    }

    /// `Content-Range`; `nil` when absent or invalid.
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

    /// Whether `Content-Range` names all of the representation.
    var isWhole: Bool {
        guard case .bytes(0, let last, let total?) = contentRange else { return false }
        return total == last + 1
    }

    /// The protocol of a server that isn't one of files, by its fields.
    var otherProtocol: String? { fields.tusVersion }

    /// Whether `Content-Range` names a part of the representation, whatever the status.
    var isPart: Bool {
        guard case .bytes(let first, let last, let total) = contentRange else { return false }
        return first > 0 || total != last + 1
    }

    /// Whether the body has several ranges (RFC 9110, section 14.6).
    public var isMultipart: Bool {
        fields[.contentType]?.lowercased().hasPrefix("multipart/byteranges") ?? false
    }
}

extension HTTPFields {
    /// The version of the tus protocol that the server speaks, as “tus 1.0.0”; `nil` if it speaks none.
    var tusVersion: String? {
        let names = ["Tus-Version", "Tus-Resumable"].compactMap { HTTPField.Name($0) }
        guard let versions = names.lazy.compactMap({ self[$0] }).first else { return nil }
        return "tus " + versions.prefix { $0 != "," }.filter { $0.isASCII && ($0.isNumber || $0 == ".") }.prefix(16)
    }
}

/// How the end of a body is marked (RFC 9112, section 6.3).
public enum DownloadFraming: Hashable, Sendable {
    /// After this many bytes: truncation is detected.
    case length(Int64)
    /// By the last chunk or END_STREAM: truncation is detected.
    case chunked
    /// By the end of the connection: truncation isn't detected.
    case untilClose
    /// By an unrequested transfer coding; the bytes can't be decoded.
    case unsupported(String)
}
