public import FoundationEssentials
@_exported public import HTTPTypes
package import TransferClient
package import TransferProtocol

/// The target of a transfer, with its headers, credentials and callbacks.
///
/// Credentials and `headers` are sent only to the origin of `url` (RFC 9110, section 4.3.1), and no longer once a
/// redirect has left it.
public struct TransferRequest: Sendable {
    /// An absolute `http` or `https` URL without user information.
    public var url: String
    /// The method (RFC 9110, section 9). `nil`, the default, is GET for `data` and `bytes`, and PUT for an upload. A
    /// download is always a GET.
    public var method: HTTPRequest.Method?
    /// Additional fields of every request, at most 64 with that of a bearer token. Fields that the transfer sets itself, such as
    /// `Range`, are rejected.
    public var headers: HTTPFields = [:]
    /// The credentials to send.
    public var credentials: TransferCredentials?
    /// The SHA-256 of the file, 32 bytes, if known. A download is verified against it. The file of an upload isn't
    /// hashed before it is sent; bytes in memory and streams are compared before anything is sent.
    public var sha256: [UInt8]?
    /// Whether an unverified complete download is a failure.
    public var requiresProof = false
    /// Whether a download stores the bytes of a body with a content coding, which wasn't asked for, as they are sent
    /// (RFC 9110, section 8.4). Otherwise it fails.
    public var storesCoded = false
    /// Whether repeating an upload is harmless although its method isn't idempotent (RFC 9110, section 9.2.2).
    public var isRepeatable = false
    /// The media type of the uploaded content.
    public var contentType = "application/octet-stream"
    /// The delay before a download or upload starts, in the phase `waiting`. It counts towards the deadline only from
    /// the start. Ignored by `data` and `bytes`.
    public var delay: Duration = .zero
    /// Provides credentials after a 401, instead of the configuration's authenticator; `nil` fails the transfer. Not
    /// called for other origins than the URL's. Called at most 3 times in a row. Cancelled with the transfer.
    public var authenticator: (@Sendable (TransferChallenge) async -> TransferCredentials?)?
    /// Provides a URL to replace a refused one, such as an expired signed URL; `nil` fails the transfer. Called at most
    /// 3 times in a row. Ignored by `data` and `bytes`.
    public var urlRefresher: (@Sendable (TransferRefusedURL) async -> String?)?
    /// Decides on the head of a response: in a download on each whose body would be received from the first byte, in
    /// `data` and `bytes` on the final one. `cancel` ends the request with the code `.cancelled`.
    public var onResponse: (@Sendable (TransferResponse) async -> ResponseDisposition)?
    /// Called for each interim response (RFC 9110, section 15.2) of `data` and `bytes`, at most 64, on the request's task,
    /// which waits for it. Downloads and uploads have theirs in `TransferStatus.interimResponse`.
    public var onInterimResponse: (@Sendable (InterimResponse) -> Void)?
    /// Whether an expensive network may be used, such as mobile broadband; see `TransferConfiguration.networkCost`. If not,
    /// a connection that would use one fails, or waits with `waitsForConnectivity`. Applies to uploads, downloads, `data`
    /// and `bytes`; an open connection isn't ended. Defaults to `true`.
    public var allowsExpensive = true
    /// Whether a constrained network may be used, like `allowsExpensive`. Defaults to `true`.
    public var allowsConstrained = true

    /// The formats that an upload may use.
    package var dialects = UploadFormatChoice.automatic
    /// Whether a relative path stays one, as messages show it. The working directory must not change then.
    package var keepsPath = false
    /// Whether a download replaces a file at its destination. Otherwise that is a failure.
    package var replacesFile = true
    /// Receives the engine's events.
    package var onEvent: (@Sendable (TransferEvent) -> Void)?

    /// Makes a request for `url`.
    public init(_ url: String) { self.url = url }

    /// Makes a request for `url`.
    public init(_ url: URL) { self.init(url.absoluteString) }

    /// Makes a request with the URL, the method and the fields of `request`. Its scheme is `https` unless it has another.
    public init(_ request: HTTPRequest) {
        url = "\(request.scheme ?? "https")://\(request.authority ?? "")\(request.path ?? "/")"
        method = request.method
        headers = request.headerFields
        guard let type = headers[.contentType] else { return }
        contentType = type
        headers[.contentType] = nil
    }
}

/// Credentials sent to the server. Never printed by `description` or reflection.
public struct TransferCredentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    enum Kind {
        case basic(name: String, password: String)
        case bearer(String)
        case byHost(RequestCredentials.Lookup)
    }

    let kind: Kind

    /// A user name and password, for the Basic scheme (RFC 7617).
    public static func basic(name: String, password: String) -> TransferCredentials {
        TransferCredentials(kind: .basic(name: name, password: password))
    }

    /// A token, for the Bearer scheme (RFC 6750).
    public static func bearer(_ token: String) -> TransferCredentials {
        TransferCredentials(kind: .bearer(token))
    }

    /// The same for every value.
    public var description: String { "(confidential)" }
    /// The same for every value.
    public var debugDescription: String { description }
    /// No children, so that dumps don't show credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransferRequest {
    /// The engine's form of headers and credentials.
    func engineCredentials(isForUpload: Bool) throws(TransferError) -> RequestCredentials {
        var fields: [RequestField] = []
        for header in headers {
            do throws(RequestFieldProblem) {
                fields.append(try RequestField("\(header.name): \(header.value)", isForUpload: isForUpload))
            } catch {
                switch error {
                case .reserved(let name): throw .invalidRequest("the header \(name) is the transfer's own")
                case .noColon, .invalidName, .invalidValue, .tooLong:
                    throw .invalidRequest(
                        "the value of the header \(header.name) has more than \(RequestField.maximumValueSize) bytes"
                    )
                }
            }
        }
        var credentials = RequestCredentials(fields: fields)
        switch self.credentials?.kind {
        case nil: break
        case .byHost(let lookup): credentials = RequestCredentials(fields: fields, byHost: lookup)
        case .bearer(let token):
            do throws(RequestFieldProblem) {
                fields.append(try RequestField("Authorization: Bearer \(token)"))
            } catch {
                throw .invalidRequest("the token has a control character, or is too long")
            }
            credentials = RequestCredentials(fields: fields)
        case .basic(let name, let password):
            do throws(CredentialProblem) {
                credentials = RequestCredentials(
                    basic: try BasicCredentials(name: name, password: password),
                    fields: fields
                )
            } catch {
                throw .invalidRequest("the credentials can't be sent: \(error)")
            }
        }
        guard fields.count <= RequestField.maximumCount else {
            throw .invalidRequest("more than \(RequestField.maximumCount) headers, with that of a bearer token")
        }
        return credentials
    }
}
