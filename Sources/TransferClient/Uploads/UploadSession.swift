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
    let group: any EventLoopGroup
    private let requirement = HTTP1Requirement()
    let onEvent: @Sendable (UploadEvent) -> Void
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
        _ client: TransferClient,
        _ request: UploadRequest,
        _ source: UploadContent,
        sha256: [UInt8],
        _ journal: UploadJournalFile,
        _ state: UploadState,
        _ callbacks: TransferCallbacks,
        startedAt: Moment,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
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
        configuration = client.configuration
        group = client.eventLoopGroup
        self.startedAt = startedAt
        pacer = TransferPacer(configuration)
        metadata = UploadMetadata(
            creationFields: request.fields,
            digest: ReprDigest(sha256: sha256),
            credentials: request.credentials
        )
        loop = AttemptLoop(configuration, callbacks, seed: client.nextSeed(), startedAt: startedAt)
    }

    /// Runs until the server has the file, or the upload has failed.
    func run(restarting reason: UploadRestartReason?) async throws(UploadError) -> UploadSummary {
        onEvent(.started(total: source.identity.length, canBeCombined: state.resource != nil))
        if let reason { restarted(reason) }
        do throws(UploadError) {
            return try await loop.run(self)
        } catch {
            await leave(after: error)
            throw error
        }
    }

    private func restarted(_ reason: UploadRestartReason) {
        counters.restarts += 1
        loop.restarted()
        onEvent(.restarted(reason))
    }

    /// Compares the server's digest and finishes the upload.
    private func finish(_ result: UploadResult) async throws(UploadError) -> UploadSummary {
        if let digest = result.digest {
            guard digest.sha256 == sha256 else { throw .digestMismatch(sent: sha256, received: digest.sha256) }
            onEvent(.verified)
        }
        try await journal.remove()
        let proof: UploadProof = result.digest != nil ? .digest : result.status != nil ? .accepted : .complete
        let summary = UploadSummary(
            bytes: source.identity.length,
            sha256: sha256,
            proof: proof,
            status: result.status,
            dialect: result.dialect?.rawValue,
            connections: counters.connections,
            resumptions: counters.resumptions,
            restarts: counters.restarts,
            acknowledgedAtStart: counters.acknowledgedAtStart ?? 0,
            bytesSent: counters.bytesSent,
            duration: configuration.clock.now() - startedAt
        )
        onEvent(.finished(summary))
        return summary
    }

    /// Leaves the journal in the best state for the next run. Errors here are less useful than the original one.
    private func leave(after error: UploadError) async {
        switch error {
        case .refused(.accessRefused) where state.resource != nil: return
        case .sourceChanged, .refused, .digestMismatch:
            state.abandon()
            await cancelAbandoned()
            try? await journal.remove()
        case .gaveUp, .cancelled, .fileSystem, .locked, .invalidURL, .invalidTLSSettings, .invalidProxy, .tlsRefused,
            .invalidSource, .invalidDigest, .digestDiffers, .streamFailed, .streamTooLong:
            return
        }
    }

    /// Asks the server once to cancel unwanted uploads. If it declines, they expire.
    private func cancelAbandoned() async {
        for resource in state.takeAbandoned() where !Task.isCancelled {
            let (request, url) = state.request(for: .cancel(resource), creation: request.method, metadata)
            counters.connections += 1
            _ = try? await httpAttempt.perform(
                request,
                at: url,
                nil,
                beforeCompletion: { () async throws(UploadError) in },
                onProgress: { _ in },
                receive: { parts in
                    for try await part in parts {
                        if case .head(let head) = part, head.status.kind != .informational { return }
                    }
                }
            )
        }
    }

    var httpAttempt: UploadAttempt {
        let connector = HTTPAttempt(
            configuration,
            group: group,
            remaining: loop.remaining,
            requirement: requirement
        )
        return UploadAttempt(
            connector: connector,
            limits: UploadTimeoutLimits(
                response: configuration.uploadResponseLimit,
                stall: configuration.stall,
                deadline: connector.limits.deadline
            )
        )
    }
}

extension UploadSession: AttemptedTransfer {
    var committed: Int64 { state.acknowledged }
    var startsOver: Bool { false }

    func nextStep() async throws(UploadError) -> AttemptStep<UploadRequestPlan, UploadSummary> {
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

    func willWait(_ delay: Duration, after cause: TransientUploadFailure, by rule: RetryRule) async throws(UploadError)
    {
        onEvent(.retrying(in: delay, cause))
    }

    func willWaitForNetwork() { onEvent(.waitingForNetwork) }

    func use(_ credentials: DownloadCredentials) {
        metadata.credentials = credentials
        state = stateBeforeResponse
        state.retryAfterRefusal(with: nil)
    }

    func use(_ url: DownloadURL) {
        state = stateBeforeResponse
        state.retryAfterRefusal(with: url)
    }
}
