import HTTPSemantics
import HTTPTypes

/// The caller's fields and credentials for an upload.
public struct UploadMetadata: Sendable {
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
        let redirects = redirects(of: plan)
        var fields: HTTPFields = [.accept: "*/*", .userAgent: "squall"]
        if let content = plan.content(of: parameters.length) {
            fields[.contentLength] = String(content.count64)
            fields[.wantReprDigest] = WantReprDigest(sha256Preference: 9).headerValue
        }
        switch plan {
        case .create, .reserve:
            for field in metadata.creationFields { fields[field.name] = field.value }
            if let digest = metadata.digest { fields[.reprDigest] = digest.headerValue }
        case .discoverLimits, .retrieveOffset, .append, .cancel: break
        }
        let encoded = plan.encoded(of: parameters.length, creation: creation)
        for field in encoded.fields { fields[field.name] = field.value }
        for name in UploadMetadata.credentialNames {
            fields[name] = redirects.hasLeftOrigin ? nil : metadata.creationFields[name]
        }
        let url = redirects.current
        return (url.request(encoded.method, fields.replacing(metadata.credentials.fields(for: redirects))), url)
    }

    /// The redirect chain of the request for `plan`, from the target to where it goes.
    public func redirects(of plan: UploadRequestPlan) -> RedirectChain {
        guard let resource = plan.resource else { return creation }
        if let redirects = resource.redirects { return redirects }
        return resource.hasLeftOrigin
            ? RedirectChain(parameters.target, throughUnknownTo: resource.url)
            : RedirectChain(parameters.target, to: resource.url)
    }
}
