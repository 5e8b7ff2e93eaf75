import HTTPTypes
import OperatingSystem
import TransferProtocol

/// The callbacks of a transfer, which waits for each until it is cancelled or its deadline passes. They are cancelled then.
public struct TransferCallbacks: Sendable {
    /// Provides credentials after a 401 (RFC 9110, section 11.6.1); `nil` fails the transfer. Not called for other
    /// origins than the URL's. Called at most 3 times in a row. What it throws ends the transfer.
    public var authenticate: (@Sendable (AttemptRefusal) async throws(TransferError) -> RequestCredentials?)?
    /// Provides a URL to replace one refused with 400, 401, 403, 404 or 410, such as an expired signed URL; `nil` fails
    /// the transfer. Called at most 3 times in a row.
    public var refreshURL: (@Sendable (AttemptRefusal) async -> String?)?
    /// Decides on the head of a response whose body would be received from the first byte; `false` cancels a download
    /// before received bytes are discarded.
    public var accepts: (@Sendable (ResponseHead) async -> Bool)?
    /// Decides whether another attempt follows a failed one, after this delay; `false` ends the transfer.
    public var mayRetry: (@Sendable (TransientFailure, Duration) -> Bool)?
    /// Called for each interim response to a single request (RFC 9110, section 15.2), with its status and fields. Downloads
    /// and uploads have events for them.
    public var onInterimResponse: (@Sendable (Int, HTTPFields) -> Void)?

    /// Called when a response shows whether a download would fetch the rest if its connection were lost now: with `nil`, or
    /// with the reason why it would start over.
    public var onResumability: (@Sendable (RestartReason?) -> Void)?

    /// Called when everything is there and verified, with the length and SHA-256, before the last step: the rename of a
    /// download, and the removal of an upload's journal. The transfer fails with what it throws, and can be resumed.
    package var willFinish: (@Sendable (_ bytes: Int64, _ sha256: [UInt8]) async throws(TransferError) -> Void)?

    /// Makes empty callbacks.
    public init() {}

    /// The same callbacks, each on a task of its own, so that a cancelled transfer doesn't wait for one that ignores it.
    var endingWithTask: TransferCallbacks {
        var callbacks = self
        if let authenticate {
            let result = { @Sendable (refusal: AttemptRefusal) async -> Result<RequestCredentials?, TransferError> in
                await Result { () async throws(TransferError) in try await authenticate(refusal) }
            }
            let outcome = Self.onTask(result, orWhenCancelled: .success(nil))
            callbacks.authenticate = { (refusal) async throws(TransferError) in try await outcome(refusal).get() }
        }
        callbacks.refreshURL = refreshURL.map { Self.onTask($0, orWhenCancelled: nil) }
        callbacks.accepts = accepts.map { Self.onTask($0, orWhenCancelled: false) }
        return callbacks
    }

    private static func onTask<Input: Sendable, Output: Sendable>(
        _ callback: @escaping @Sendable (Input) async -> Output,
        orWhenCancelled cancelled: Output
    ) -> @Sendable (Input) async -> Output {
        { input in await FirstValue.result(orWhenCancelled: cancelled) { await callback(input) } }
    }

    func credentials(for refusal: AttemptRefusal) async throws(TransferError) -> RequestCredentials? {
        guard let challenge = refusal.challenge, !challenge.isFromProxy, refusal.isAtOrigin else { return nil }
        return try await authenticate?(refusal)
    }

    func url(inPlaceOf refusal: AttemptRefusal) async -> String? {
        guard refusal.canMove, [400, 401, 403, 404, 410].contains(refusal.status) else { return nil }
        return await refreshURL?(refusal)
    }
}
