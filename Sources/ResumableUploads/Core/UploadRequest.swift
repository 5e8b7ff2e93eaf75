import HTTPSemantics
import HTTPTypes
import TransferProtocol

/// The head of a request, as far as uploads are concerned.
public struct UploadRequest: Hashable, Sendable {
    /// What the request target stands for.
    public enum Resource: Hashable, Sendable {
        /// A file that can be uploaded.
        case target(UploadTarget)
        /// An upload, or what would be one.
        case upload(UploadToken)
    }

    /// The resource.
    public var resource: Resource
    /// The method.
    public var method: HTTPRequest.Method
    /// The dialect of the request; `nil` when it names none, or one that isn't spoken here.
    public var dialect: UploadDialect?
    /// The fields of the upload, in that dialect.
    public var fields: UploadFields
    /// Whether the fields say in any dialect that more follows, so that the content isn't a whole representation.
    public var isPartial: Bool
    /// The bytes of the content, when the request says how many there are; 0 when it has none.
    public var contentLength: Int64?
    /// The media type in lower case without its parameters.
    public var contentType: String?
    /// The digest of the whole representation.
    public var digest: ReprDigest?
    /// The digest of the content of this request (`Content-Digest`, RFC 9530, section 2).
    public var contentDigest: ReprDigest?
    /// Whether the target must not exist: `If-None-Match: *`. A list of tags and `If-Unmodified-Since` count as that, for
    /// they hold where there is no target (RFC 9110, sections 13.1.2 and 13.1.4), and its tag and date aren't known here.
    public var isOnlyNew: Bool
    /// Whether the target must be in a state that the client names (`If-Match`; RFC 9110, section 13.1.1).
    var hasIfMatch: Bool
    /// Whether the content is a part by `Content-Range` (RFC 9110, section 14.5), or in a content coding.
    public var content: Content

    /// How the content relates to the representation.
    public enum Content: Hashable, Sendable {
        /// The bytes as they are.
        case plain
        /// A part, which a PUT can't bring.
        case range
        /// In a content coding.
        case coded
    }

    /// Reads a head. `contentLength` is what the framing says: 0 without content, `nil` when it is in chunks.
    public init(resource: Resource, method: HTTPRequest.Method, fields: HTTPFields, contentLength: Int64?) {
        self.resource = resource
        self.method = method
        // A length below 0 is none, and is refused as one that is too large.
        self.contentLength = contentLength.map { $0 < 0 ? .max : $0 }
        let named = UploadFields.interopVersion(of: fields).flatMap { UploadDialect(interopVersion: $0) }
        self.fields = UploadFields(fields, in: named ?? .newest)
        isPartial = [UploadDialect.v3, .newest].contains { UploadFields(fields, in: $0).isComplete == false }
        dialect = named
        contentType = fields[.contentType].map { type in
            type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
        }
        digest = fields[.reprDigest].flatMap { ReprDigest($0) }
        contentDigest = fields[.contentDigest].flatMap { ReprDigest($0) }
        hasIfMatch = fields[.ifMatch] != nil
        let date = hasIfMatch ? nil : fields[.ifUnmodifiedSince].flatMap { HTTPDate($0) }
        isOnlyNew = fields[.ifNoneMatch] != nil || date != nil
        let coding = fields[.contentEncoding]?.lowercased() ?? "identity"
        content = fields[.contentRange] != nil ? .range : coding != "identity" ? .coded : .plain
        // A request to create an upload without the flag is an ordinary one.
        if case .target = resource, method != .options, self.fields.isComplete == nil { dialect = nil }
    }

    /// Whether the fields say nothing of an upload, as a request about its offset should be.
    var hasUploadFields: Bool { fields.isComplete != nil || fields.offset != nil || fields.length != nil }
}
