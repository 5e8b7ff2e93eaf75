import HTTPTypes
import TransferProtocol

/// The callbacks of a transfer, which waits for each until it is cancelled or its deadline passes. They are cancelled then.
public struct TransferCallbacks: Sendable {
    /// Provides credentials after a 401 (RFC 9110, section 11.6.1); `nil` fails the transfer. Not called for other
    /// origins than the URL's. Called at most 3 times in a row.
    public var authenticate: (@Sendable (AuthenticationChallenge) async -> RequestCredentials?)?
    /// Provides a URL to replace one refused with 400, 401, 403, 404 or 410, such as an expired signed URL; `nil` fails
    /// the transfer. Called at most 3 times in a row.
    public var refreshURL: (@Sendable (RefusedURL) async -> String?)?
    /// Decides on the head of a response whose body would be received from the first byte; `false` cancels a download
    /// before received bytes are discarded.
    public var accepts: (@Sendable (ResponseHead) async -> Bool)?
    /// Called for each interim response to a single request (RFC 9110, section 15.2), with its status and fields. Downloads
    /// and uploads have events for them.
    public var onInterimResponse: (@Sendable (Int, HTTPFields) -> Void)?

    /// Called when a response shows whether a download would fetch the rest if its connection were lost now: with `nil`, or
    /// with the reason why it would start over.
    public var onResumability: (@Sendable (RestartReason?) -> Void)?

    /// Makes empty callbacks.
    public init() {}

    /// The same callbacks, each on a task of its own, so that a cancelled transfer doesn't wait for one that ignores it.
    var endingWithTask: TransferCallbacks {
        var callbacks = self
        if let authenticate {
            callbacks.authenticate = { challenge in
                await FirstValue.result(orWhenCancelled: nil) { await authenticate(challenge) }
            }
        }
        if let refreshURL {
            callbacks.refreshURL = { refused in
                await FirstValue.result(orWhenCancelled: nil) { await refreshURL(refused) }
            }
        }
        if let accepts {
            callbacks.accepts = { response in
                await FirstValue.result(orWhenCancelled: false) { await accepts(response) }
            }
        }
        return callbacks
    }

    func credentials(for refusal: AttemptRefusal, previousRefusals: Int) async -> RequestCredentials? {
        guard let authenticate, let challenge = refusal.challenge, !challenge.isFromProxy, refusal.isAtOrigin else {
            return nil
        }
        return await authenticate(
            AuthenticationChallenge(
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

/// A 401 for which the caller may have credentials.
public struct AuthenticationChallenge: Sendable {
    /// The URL that returned 401.
    public var url: String
    /// The server's challenge.
    public var challenge: HTTPChallenge
    /// Whether the request carried credentials.
    public var wereCredentialsSent: Bool
    /// The number of preceding refusals in a row: 0 to 2.
    public var previousRefusals: Int
}

/// The refused URL.
public struct RefusedURL: Sendable {
    /// The URL that was refused: the request's, or a redirect's.
    public var url: String
    /// The status of the refusal.
    public var status: Int
}
