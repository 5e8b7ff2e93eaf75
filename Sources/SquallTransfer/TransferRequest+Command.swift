internal import HTTPTypes
package import TransferClient
package import TransferProtocol

// What `squall get` and `squall put` set and ask beyond the public API.
extension TransferRequest {
    /// The maximum number of `headers`.
    package static let maximumHeaders = RequestField.maximumCount

    /// The last part of the URL's path, decoded; `nil` if no file can have that name.
    package func fileName() throws(TransferClient.TransferError) -> String? {
        try TransferURL(checked: url).fileName
    }

    /// Adds the field of a line `Name: value`.
    package mutating func addHeader(_ line: String, isForUpload: Bool) throws(RequestFieldProblem) {
        let field = try RequestField(line, isForUpload: isForUpload)
        headers.append(HTTPField(name: field.name, value: field.value))
    }

    /// The names of the formats that an upload may use: `auto`, `none`, and the interop versions.
    package static let dialectNames = ["auto", "none"] + UploadWireFormat.allCases.map { String($0.interopVersion) }

    /// Allows the formats of a name in `dialectNames`.
    package mutating func allow(dialect name: String) {
        let named = UploadWireFormat.allCases.first { String($0.interopVersion) == name }
        dialects = named.map { .only($0) } ?? (name == "none" ? .none : .automatic)
    }
}

extension TransferCredentials {
    /// The maximum size of a name and a password together.
    package static let maximumSize = BasicCredentials.maximumSize

    /// A user name and a password, checked.
    package static func checked(name: String, password: String) throws(CredentialProblem) -> TransferCredentials {
        _ = try BasicCredentials(name: name, password: password)
        return .basic(name: name, password: password)
    }

    /// Credentials that are looked up for each host.
    package static func byHost(_ lookup: @escaping RequestCredentials.Lookup) -> TransferCredentials {
        TransferCredentials(kind: .byHost(lookup))
    }
}

extension TransferProxies {
    /// Uses one proxy for all requests.
    package init(checking proxy: String, exceptions: String = "") throws(ProxyProblem) {
        let proxy = try ProxySettings.Proxy(proxy)
        settings = ProxySettings(http: proxy, https: proxy, exceptions: exceptions)
    }
}
