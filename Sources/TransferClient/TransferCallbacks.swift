import HTTPTypes
import TransferProtocol

/// The questions that a transfer asks its caller on the way. Each is asked on the transfer's task, which waits for the answer.
public struct TransferCallbacks: Sendable {
    /// Gives credentials for a server that refused the ones it was shown, or none (RFC 9110, section 11.6.1); `nil` ends the
    /// transfer. It isn't asked about servers of another origin than the URL's. At most 3 times in a row.
    public var authenticate: (@Sendable (AuthenticationQuestion) async -> DownloadCredentials?)?
    /// Gives a URL in the place of one that a server refused with 400, 401, 403, 404 or 410, such as one that was signed and
    /// has expired; `nil` ends the transfer. At most 3 times in a row.
    public var refreshURL: (@Sendable (RefusedURL) async -> String?)?
    /// Decides on the head of a response whose body would be received from the first byte; `false` ends a download as
    /// cancelled, before anything that it holds is thrown away.
    public var accepts: (@Sendable (ExchangeResponse) async -> Bool)?

    /// Makes callbacks that ask nothing.
    public init() {}

    func credentials(for refusal: AttemptRefusal, previousRefusals: Int) async -> DownloadCredentials? {
        guard let authenticate, let challenge = refusal.challenge, !challenge.isFromProxy, refusal.isAtOrigin else {
            return nil
        }
        return await authenticate(
            AuthenticationQuestion(
                url: refusal.url.text,
                challenge: challenge,
                wereCredentialsSent: refusal.use == .sent,
                previousRefusals: previousRefusals
            )
        )
    }

    func url(inPlaceOf refusal: AttemptRefusal) async -> String? {
        guard let refreshURL, refusal.canMove, [400, 401, 403, 404, 410].contains(refusal.status) else { return nil }
        return await refreshURL(RefusedURL(url: refusal.url.text, status: refusal.status))
    }
}

/// A 401, to a caller that may have credentials for it.
public struct AuthenticationQuestion: Sendable {
    /// The URL that refused.
    public var url: String
    /// What it asks for.
    public var challenge: DownloadChallenge
    /// Whether the request carried credentials.
    public var wereCredentialsSent: Bool
    /// The answers in a row that were refused before: 0 to 2.
    public var previousRefusals: Int
}

/// A URL that a server refused.
public struct RefusedURL: Sendable {
    /// The URL that refused: the request's, or one that it was redirected to.
    public var url: String
    /// The status of the refusal.
    public var status: Int
}
