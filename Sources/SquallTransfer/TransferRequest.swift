internal import HTTPTypes
internal import TransferProtocol

/// What is to be transferred, and what the server is told with it.
///
/// Credentials and the fields in `headers` go to the origin of `url` alone (RFC 9110, section 4.3.1), and no more once a
/// redirection has left it.
public struct TransferRequest: Sendable {
    /// An absolute `http` or `https` URL without a user name.
    public var url: String
    /// The method (RFC 9110, section 9). `nil`, the default, is GET for `data` and `bytes`, and PUT for an upload. A download
    /// is always a GET.
    public var method: String?
    /// Fields that every request carries in addition. Those that a transfer needs for itself, such as `Range`, are refused.
    public var headers: [TransferHeader] = []
    /// The credentials to send.
    public var credentials: TransferCredentials?
    /// The SHA-256 of the file, 32 bytes, where the caller knows it. A download is compared with it. The file of an upload
    /// isn't read for it before it is sent; bytes in memory and streams are compared with it before anything is sent.
    public var sha256: [UInt8]?
    /// Whether a complete download that nothing proves is a failure.
    public var requiresProof = false
    /// Whether sending an upload twice is harmless although its method isn't idempotent (RFC 9110, section 9.2.2).
    public var isRepeatable = false
    /// The media type of what is uploaded.
    public var contentType = "application/octet-stream"
    /// The time that a download or an upload waits before it begins, in the phase `waiting`. The deadline counts from its
    /// beginning. `data` and `bytes` ignore it.
    public var delay: Duration = .zero
    /// Gives credentials when the server refuses the ones that it was shown, or none, in place of the configuration's; `nil` as an
    /// answer ends the transfer. It isn't asked about servers of another origin than the URL's, and 3 times in a row at most. When the
    /// transfer is cancelled, so is the task that asks.
    public var authenticator: (@Sendable (TransferChallenge) async -> TransferCredentials?)?
    /// Gives a URL in the place of one that the server refused, such as one that was signed and has expired; `nil` as an answer ends
    /// the transfer. 3 times in a row at most. Of downloads and uploads; `data` and `bytes` ignore it.
    public var urlRefresher: (@Sendable (TransferRefusedURL) async -> String?)?
    /// Decides on the head of a response: in a download on each whose body would be received from the first byte, in `data` and
    /// `bytes` on the final one. A `cancel` ends the request with the code `.cancelled`.
    public var onResponse: (@Sendable (TransferResponse) async -> ResponseDisposition)?

    /// Makes a request for `url`.
    public init(_ url: String) {
        self.url = url
    }
}

/// A header field.
public struct TransferHeader: Hashable, Sendable {
    /// Its name, in any case.
    public var name: String
    /// Its value, without the white space around it.
    public var value: String

    /// Makes a field of a name and a value.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Credentials sent to the server. Never printed by `description` or reflection.
public struct TransferCredentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    enum Kind {
        case basic(name: String, password: String)
        case bearer(String)
    }

    let kind: Kind

    /// A name and a password, for the Basic scheme (RFC 7617).
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
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransferRequest {
    /// What the engine takes for the headers and the credentials.
    func downloadCredentials(isForUpload: Bool) throws(TransferError) -> DownloadCredentials {
        guard headers.count < RequestField.most else {
            throw .invalidRequest("more than \(RequestField.most - 1) headers")
        }
        var fields: [RequestField] = []
        for header in headers {
            fields.append(try Self.field(header.name, header.value, isForUpload))
        }
        switch credentials?.kind {
        case nil:
            return DownloadCredentials(fields: fields)
        case .bearer(let token):
            fields.append(try Self.field("Authorization", "Bearer \(token)", isForUpload))
            return DownloadCredentials(fields: fields)
        case .basic(let name, let password):
            do throws(CredentialProblem) {
                return DownloadCredentials(basic: try BasicCredentials(name: name, password: password), fields: fields)
            } catch {
                switch error {
                case .colonInName: throw .invalidRequest("the name of the credentials has a colon")
                case .controlCharacter: throw .invalidRequest("the credentials have a control character")
                case .tooLong:
                    throw .invalidRequest("the credentials are longer than \(BasicCredentials.longest) bytes")
                }
            }
        }
    }

    private static func field(
        _ name: String,
        _ value: String,
        _ isForUpload: Bool
    ) throws(TransferError) -> RequestField {
        // A name is checked before it is shown: whoever mixes up both parts would read a secret in a log.
        guard !name.contains(":"), HTTPField.Name(name) != nil else {
            throw .invalidRequest("the name of a header is no token")
        }
        do throws(RequestFieldProblem) {
            return try RequestField("\(name): \(value)", isForUpload: isForUpload)
        } catch {
            switch error {
            case .noColon, .invalidName: throw .invalidRequest("the name of a header is no token")
            case .invalidValue: throw .invalidRequest("the value of the header \(name) has a control character")
            case .governed(let name): throw .invalidRequest("the header \(name) is the transfer's own")
            case .tooLong:
                throw .invalidRequest(
                    "the value of the header \(name) has more than \(RequestField.longestValue) bytes"
                )
            }
        }
    }
}
