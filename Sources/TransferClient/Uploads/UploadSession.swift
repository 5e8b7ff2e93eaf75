import HTTPSemantics
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization
import TransferProtocol
import Units

/// One upload over all its connections: carries out the decisions of `UploadState`.
///
/// Used by a single task, in order.
final class UploadSession {
    let request: UploadRequest
    let source: UploadContent
    let sha256: [UInt8]
    let journal: UploadJournalFile
    let configuration: TransferClientConfiguration
    let connections: any RequestSending
    let executor: (any TaskExecutor)?
    let onEvent: @Sendable (TransferEvent) -> Void
    let startedAt: Moment
    let loop: AttemptLoop
    /// The rate limiter, if any.
    let pacer: TransferPacer?

    var metadata: UploadMetadata
    /// The host of the last request.
    var host: String
    var state: UploadState
    /// The state before the last response, restored when the caller resolves a refusal.
    var stateBeforeResponse: UploadState
    /// The last successful response to a request with content.
    var response: UploadedResponse?
    var counters = Counters()
    private var reportedRestarts: Int

    /// The counters of an upload.
    struct Counters {
        var connections = 0
        var resumptions = 0
        var restarts = 0
        /// The offset at which this run started; `nil` until known.
        var acknowledgedAtStart: Int64?
        var bytesSent: Int64 = 0
    }

    init(
        _ environment: TransferEnvironment,
        _ request: UploadRequest,
        _ source: UploadContent,
        sha256: [UInt8],
        _ journal: UploadJournalFile,
        _ state: UploadState,
        _ callbacks: TransferCallbacks,
        seed: UInt64,
        startedAt: Moment,
        onEvent: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.request = request
        self.source = source
        self.sha256 = sha256
        self.journal = journal
        self.state = state
        stateBeforeResponse = state
        reportedRestarts = state.restarts
        host = state.target.host
        self.onEvent = onEvent
        configuration = environment.configuration
        connections = environment.connections(.upload)
        executor = environment.executor
        self.startedAt = startedAt
        pacer = TransferPacer(configuration)
        metadata = UploadMetadata(
            creationFields: request.fields,
            digest: ReprDigest(sha256: sha256),
            credentials: request.credentials
        )
        loop = AttemptLoop(configuration, callbacks, seed: seed, startedAt: startedAt)
    }

    /// Runs until the server has the file, or the upload has failed.
    func run(restarting reason: RestartReason?) async throws(TransferError) -> TransferSummary {
        onEvent(.started(total: source.identity.length, isContinued: state.resource != nil))
        if let reason { restarted(reason) }
        do throws(TransferError) {
            return try await loop.run(self)
        } catch {
            await leave(after: error)
            throw error
        }
    }

    private func restarted(_ reason: RestartReason) {
        counters.restarts += 1
        loop.restarted()
        onEvent(.restarted(reason))
    }

    /// Compares the server's digest and finishes the upload.
    private func finish(_ result: UploadResult) async throws(TransferError) -> TransferSummary {
        if let digest = result.digest {
            guard digest.sha256 == sha256 else { throw .digestRejected(sent: sha256, received: digest.sha256) }
            onEvent(.verified(.server))
        }
        try await journal.remove()
        let proof: UploadProof = result.digest != nil ? .digest : result.status != nil ? .accepted : .complete
        let summary = TransferSummary(
            bytes: source.identity.length,
            sha256: sha256,
            connections: counters.connections,
            resumptions: counters.resumptions,
            restarts: counters.restarts,
            bytesRecovered: counters.acknowledgedAtStart ?? 0,
            bytesTransferred: counters.bytesSent,
            duration: configuration.clock.now() - startedAt,
            details: .upload(
                UploadDetails(
                    proof: proof,
                    response: result.status == response?.status ? response : nil,
                    dialect: result.dialect?.rawValue
                )
            )
        )
        onEvent(.finished(summary))
        return summary
    }

    /// Leaves the journal in the best state for the next run. Errors here are less useful than the original one.
    private func leave(after error: TransferError) async {
        switch error {
        case .refused(.unauthorized) where state.resource != nil: return
        case .sourceChanged, .refused, .digestRejected:
            state.abandon()
            await cancelAbandoned()
            try? await journal.remove()
        default: return
        }
    }

    /// Asks the server once to cancel unwanted uploads. If it declines, they expire.
    private func cancelAbandoned() async {
        for resource in state.takeAbandoned() where !Task.isCancelled {
            let (request, url) = state.request(for: .cancel(resource), creation: request.method, metadata)
            counters.connections += 1
            try? await connections.send(request, to: url, .none, within: loop.remaining) { parts, _ in
                for try await part in parts {
                    if case .head(let head) = part, head.status.kind != .informational { return }
                }
            }
        }
    }
}

extension UploadSession: AttemptedTransfer {
    var committed: Int64 { state.acknowledged }
    var startsOver: Bool { false }

    func nextStep() async throws(TransferError) -> AttemptStep<UploadRequestPlan> {
        if state.restarts > reportedRestarts {
            reportedRestarts = state.restarts
            restarted(.uploadGone)
        }
        await cancelAbandoned()
        guard !Task.isCancelled else { throw .cancelled }
        switch state.nextStep(now: configuration.clock.secondsSince1970()) {
        case .finish(let result): return .finished(try await finish(result))
        case .fail(let failure): throw .refused(failure)
        case .send(let plan): return .attempt(plan)
        }
    }

    func willWait(_ delay: Duration, after cause: TransientFailure, by rule: RetryRule) async throws(TransferError) {
        onEvent(.retrying(in: delay, cause, rule))
    }

    func willWaitForNetwork() { onEvent(.waitingForNetwork) }

    func use(_ credentials: RequestCredentials) {
        metadata.credentials = credentials
        state = stateBeforeResponse
        state.retryAfterRefusal(with: nil)
    }

    func use(_ url: TransferURL) {
        state = stateBeforeResponse
        state.retryAfterRefusal(with: url)
    }
}
