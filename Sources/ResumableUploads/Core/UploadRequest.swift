import HTTPSemantics
import HTTPTypes
import TransferProtocol

/// The head of a request, reduced to what uploads need.
package struct UploadRequestHead: Hashable, Sendable {
    /// The resource that the request target identifies.
    package enum Resource: Hashable, Sendable {
        /// A file that can be uploaded.
        case target(UploadTarget)
        /// An upload resource, existing or not.
        case upload(UploadToken)
    }

    /// The resource.
    package var resource: Resource
    /// The method.
    package var method: HTTPRequest.Method
    /// The dialect of the request; `nil` for none or an unsupported one.
    package var dialect: UploadWireFormat?
    /// The upload fields, in that dialect.
    package var fields: UploadFields
    /// Whether the fields of any dialect mark the content as incomplete.
    package var isPartial: Bool
    /// The content length, if declared; 0 without content.
    package var contentLength: Int64?
    /// The media type in lower case without its parameters.
    package var contentType: String?
    /// The digest of the full representation.
    package var digest: ReprDigest?
    /// The digest of the content of this request (`Content-Digest`, RFC 9530, section 2).
    package var contentDigest: ReprDigest?
    /// Whether the target must not exist: `If-None-Match: *`. A list of tags and `If-Unmodified-Since` count too: they
    /// hold when there is no target (RFC 9110, sections 13.1.2 and 13.1.4), and validators of the target aren't known
    /// here.
    package var isOnlyNew: Bool
    /// The state that the target must have: `If-Match` (RFC 9110, section 13.1.1).
    var ifMatch: String?
    /// Whether the content is a range (`Content-Range`; RFC 9110, section 14.5) or has a content coding.
    package var content: Content

    /// How the content relates to the representation.
    package enum Content: Hashable, Sendable {
        /// The bytes themselves.
        case plain
        /// A range, which PUT doesn't support.
        case range
        /// In a content coding.
        case coded
    }

    /// Parses a head. `contentLength` comes from the framing: 0 without content, `nil` when chunked.
    package init(resource: Resource, method: HTTPRequest.Method, fields: HTTPFields, contentLength: Int64?) {
        self.resource = resource
        self.method = method
        // A negative length is invalid and is refused as too large.
        self.contentLength = contentLength.map { $0 < 0 ? .max : $0 }
        let named = UploadWireFormat(namedIn: fields)
        self.fields = (named ?? .newest).decode(fields)
        isPartial = [UploadWireFormat.v3, .newest].contains { $0.decode(fields).isComplete == false }
        dialect = named
        contentType = fields[.contentType].map { type in
            type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
        }
        digest = fields[.reprDigest].flatMap { ReprDigest($0) }
        contentDigest = fields[.contentDigest].flatMap { ReprDigest($0) }
        ifMatch = fields[.ifMatch]
        let date = ifMatch != nil ? nil : fields[.ifUnmodifiedSince].flatMap { HTTPDate($0) }
        isOnlyNew = fields[.ifNoneMatch] != nil || date != nil
        let coding = fields[.contentEncoding]?.lowercased() ?? "identity"
        content = fields[.contentRange] != nil ? .range : coding != "identity" ? .coded : .plain
        // A creation without the flag is a plain upload.
        if case .target = resource, method != .options, self.fields.isComplete == nil { dialect = nil }
    }

    /// The response that refuses content that isn't the bytes of a file; `nil` for others.
    func refusal(by policy: UploadPolicy) -> UploadResponse? {
        switch content {
        case .range: .message(400, "A part of a file can't be uploaded with Content-Range.")
        case .coded where policy.refusesContentCodings: .message(415, "The content must have no content coding.")
        case .coded, .plain: nil
        }
    }

    /// Whether there are upload fields, which offset requests shouldn't have.
    var hasUploadFields: Bool { fields.isComplete != nil || fields.offset != nil || fields.length != nil }
}
