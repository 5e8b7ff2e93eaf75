import HTTPSemantics
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization
import TransferProtocol
import Units

/// One upload from its first connection to its last: carries out what `UploadState` decides.
///
/// Used by a single task, in order.
final class UploadSession {
    let request: UploadRequest
    let source: UploadSourceFile
    let sha256: [UInt8]
    let journal: UploadJournalFile
    let configuration: TransferClientConfiguration
    let group: any EventLoopGroup
    let tls: TLSClient
    let onEvent: @Sendable (UploadEvent) -> Void
    let startedAt: Moment
    let metadata: UploadMetadata

    var state: UploadState
    var schedule: RetrySchedule
    var tally = Tally()

    /// What is counted on the way.
    struct Tally {
        var connections = 0
        var resumptions = 0
        var restarts = 0
        /// The offset at which this run began; `nil` until it is known.
        var acknowledgedAtStart: Int64?
        var bytesSent: Int64 = 0
    }

    /// The end of an attempt.
    enum Outcome: Sendable {
        case decided(UploadAction)
        case failed(UploadError)
    }

    init(
        _ client: TransferClient,
        _ request: UploadRequest,
        _ source: UploadSourceFile,
        sha256: [UInt8],
        _ journal: UploadJournalFile,
        _ state: UploadState,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) {
        self.request = request
        self.source = source
        self.sha256 = sha256
        self.journal = journal
        self.state = state
        self.onEvent = onEvent
        configuration = client.configuration
        group = client.eventLoopGroup
        tls = client.tls
        startedAt = configuration.clock.now()
        metadata = UploadMetadata(
            creationFields: request.fields,
            digest: ReprDigest(sha256: sha256),
            credentials: request.credentials
        )
        schedule = RetrySchedule(
            policy: configuration.retry,
            generator: SeededGenerator(seed: client.nextSeed()),
            startedAt: startedAt
        )
    }

    /// Works until the server has the file, or until no further attempt makes sense.
    func run(restarting reason: UploadRestartReason?) async throws(UploadError) -> UploadSummary {
        onEvent(.started(total: source.identity.length, isContinued: state.resource != nil))
        if let reason { restarted(reason) }
        do throws(UploadError) {
            while true {
                await cancelAbandoned()
                guard !Task.isCancelled else { throw .cancelled }
                let restarts = state.restarts
                let step = state.nextStep(now: configuration.clock.secondsSince1970())
                switch step {
                case .finish(let result): return try await finish(result)
                case .fail(let failure): throw .refused(failure)
                case .send(let plan): try await proceed(after: await attempt(plan))
                }
                if state.restarts > restarts { restarted(.uploadGone) }
            }
        } catch {
            await leave(after: error)
            throw error
        }
    }

    private func restarted(_ reason: UploadRestartReason) {
        tally.restarts += 1
        schedule.restarted()
        onEvent(.restarted(reason))
    }

    /// Does what an attempt's outcome asks for, before the next attempt.
    private func proceed(after outcome: Outcome) async throws(UploadError) {
        schedule.reached(state.acknowledged)
        switch outcome {
        case .failed(let error): throw error
        case .decided(.proceed): return
        case .decided(.askAgain(let setback)): try await wait(setback, after: nil, isImmediate: true)
        case .decided(.retry(let retryAfter, let setback)): try await wait(setback, after: retryAfter)
        }
    }

    private func wait(
        _ setback: UploadSetback,
        after retryAfter: Duration?,
        isImmediate: Bool = false
    ) async throws(UploadError) {
        guard !Task.isCancelled else { throw .cancelled }
        let now = configuration.clock.now()
        switch schedule.failed(at: now, retryAfter: retryAfter, isImmediate: isImmediate) {
        case .giveUp(let limit): throw .gaveUp(limit, setback)
        case .wait(let delay, _):
            onEvent(.retrying(in: delay, setback))
            guard delay > .zero else { return }
            do {
                try await configuration.clock.sleep(delay)
            } catch {
                throw .cancelled
            }
        }
    }

    /// Compares what the server told with what was sent.
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
            connections: tally.connections,
            resumptions: tally.resumptions,
            restarts: tally.restarts,
            acknowledgedAtStart: tally.acknowledgedAtStart ?? 0,
            bytesSent: tally.bytesSent,
            duration: configuration.clock.now() - startedAt
        )
        onEvent(.finished(summary))
        return summary
    }

    /// Leaves the journal as the next run can best use it. What fails now is less than the error that is thrown anyway.
    private func leave(after error: UploadError) async {
        switch error {
        case .refused(.accessRefused) where state.resource != nil: return
        case .sourceChanged, .refused, .digestMismatch:
            state.abandon()
            await cancelAbandoned()
            try? await journal.remove()
        case .gaveUp, .cancelled, .fileSystem, .locked, .invalidURL, .invalidTLSSettings, .tlsRefused, .invalidSource:
            return
        }
    }

    /// Asks the server once to forget uploads that are no longer wanted. It may decline: they expire.
    private func cancelAbandoned() async {
        for resource in state.takeAbandoned() where !Task.isCancelled {
            let (request, url) = state.request(for: .cancel(resource), creation: request.method, metadata)
            tally.connections += 1
            _ = try? await exchange.perform(
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

    var exchange: UploadExchange {
        let remaining = schedule.remaining(at: configuration.clock.now())
        let connector = DownloadExchange(configuration, group: group, tls: tls, remaining: remaining)
        return UploadExchange(
            connector: connector,
            limits: UploadWatchLimits(
                response: configuration.uploadResponseLimit,
                stall: configuration.stall,
                deadline: connector.limits.deadline
            )
        )
    }
}
