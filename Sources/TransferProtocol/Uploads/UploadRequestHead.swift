import HTTPSemantics
import HTTPTypes

/// The caller's fields and credentials for an upload.
public struct UploadMetadata: Hashable, Sendable {
    /// The fields of the representation, such as `Content-Type`; sent only with the creation.
    public var creationFields: HTTPFields
    /// The digest of the representation; sent with the creation.
    public var digest: ReprDigest?
    /// Sent with every request to the target's origin.
    public var credentials: RequestCredentials

    /// Makes metadata.
    public init(
        creationFields: HTTPFields = [:],
        digest: ReprDigest? = nil,
        credentials: RequestCredentials = .none
    ) {
        self.creationFields = creationFields
        self.digest = digest
        self.credentials = credentials
    }

    /// The credential fields, which never go to another origin than the target's.
    static let credentialNames: [HTTPField.Name] = [.authorization, .cookie, .proxyAuthorization]
}

extension UploadState {
    /// The head of the request for `plan`; `creation` is the method of creation requests.
    public func request(
        for plan: UploadRequestPlan,
        creation: HTTPRequest.Method,
        _ metadata: UploadMetadata
    ) -> (HTTPRequest, to: TransferURL) {
        let url = plan.resource?.url ?? creationURL
        var fields: HTTPFields = [.accept: "*/*", .userAgent: "squall"]
        if let dialect = plan.dialect { fields[.uploadDraftInteropVersion] = dialect.interopVersionValue }
        if let content = plan.content(of: parameters.length) {
            fields[.contentLength] = String(content.count64)
            fields[.wantReprDigest] = WantReprDigest(sha256Preference: 9).headerValue
        }
        let method: HTTPRequest.Method
        switch plan {
        case .create(let dialect):
            method = creation
            add(metadata, to: &fields)
            if let dialect { UploadFields(isComplete: true, length: parameters.length).write(to: &fields, in: dialect) }
        case .reserve(let dialect):
            method = creation
            add(metadata, to: &fields)
            UploadFields(isComplete: false, length: parameters.length).write(to: &fields, in: dialect)
        case .discoverLimits: method = .options
        case .retrieveOffset: method = .head
        case .append(let resource, let from, _, let isLast):
            method = .patch
            UploadFields(isComplete: isLast, offset: from).write(to: &fields, in: resource.dialect)
            if let type = resource.dialect.rules.appendMediaType { fields[.contentType] = type }
        case .cancel: method = .delete
        }
        let redirects = redirects(of: plan)
        for name in UploadMetadata.credentialNames {
            fields[name] = redirects.hasLeftOrigin ? nil : metadata.creationFields[name]
        }
        let shown = metadata.credentials.fields(for: redirects)
        for field in shown { fields[fields: field.name] = shown.filter { $0.name == field.name } }
        let request = HTTPRequest(
            method: method,
            scheme: url.scheme.rawValue,
            authority: url.authority,
            path: url.target,
            headerFields: fields
        )
        return (request, url)
    }

    /// The redirect chain of the request for `plan`: the target, redirects of the creation, and the upload resource.
    public func redirects(of plan: UploadRequestPlan) -> RedirectChain {
        let last = plan.resource?.url ?? creationURL
        if hasLeftOrigin, last != parameters.target {
            return RedirectChain(parameters.target, throughUnknownTo: last)
        }
        var redirects = RedirectChain(parameters.target)
        for url in [target, creationURL, plan.resource?.url] {
            if let url, url != redirects.current { redirects.follow(url) }
        }
        return redirects
    }

    private func add(_ metadata: UploadMetadata, to fields: inout HTTPFields) {
        for field in metadata.creationFields { fields[field.name] = field.value }
        if let digest = metadata.digest { fields[.reprDigest] = digest.headerValue }
    }
}
