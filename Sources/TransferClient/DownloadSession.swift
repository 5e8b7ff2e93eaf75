import HTTPTransport
import SystemPackage
import TransferProtocol
import Units

/// One download over all its connections: carries out the decisions of `DownloadState`.
///
/// Used by a single task, in order.
final class DownloadSession {
    let request: DownloadRequest
    let configuration: TransferClientConfiguration
    let environment: DownloadEnvironment
    let file: PartialFile
    let onEvent: @Sendable (DownloadEvent) -> Void
    let startedAt: Moment
    let loop: AttemptLoop
    /// The rate limiter, if any.
    let pacer: TransferPacer?

    /// The caller's original URL; credentials go only to its origin.
    let namedURL: DownloadURL
    /// The current URL: the original one or the caller's replacement.
    var url: DownloadURL
    var credentials: DownloadCredentials
    /// The host of the last request.
    var host: String
    var state: DownloadState
    var summary = Counters()
    var finalURL: DownloadURL
    /// The redirects to the last response; unknown in the first attempt of a run that resumes.
    var lastRedirects: RedirectChain?
    /// The source as last journalled.
    var recorded: JournalSource?
    var lastProgress: Moment
    var lastCheckpoint: Moment
    var runningCheckpoint: RunningCheckpoint?
    /// The concurrent verification of bytes from an earlier run.
    var verification: Task<Result<Range<Int64>?, DownloadError>, Never>?
    /// Whether the last URL that served bytes is tried first.
    var triesLastURL = true
    private var hasConfirmed = false

    /// The counters of a download.
    struct Counters {
        var connections = 0
        var resumptions = 0
        var restarts = 0
        var bytesRecovered: Int64 = 0
        var bytesReceived: Int64 = 0
        var digestMismatches = 0
    }

    init(
        _ environment: DownloadEnvironment,
        _ request: DownloadRequest,
        _ url: DownloadURL,
        _ file: PartialFile,
        _ recovered: RecoveredPartial,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) {
        self.request = request
        namedURL = url
        self.url = url
        credentials = request.credentials
        host = url.host
        self.file = file
        self.onEvent = onEvent
        self.environment = environment
        configuration = environment.configuration
        finalURL = url
        startedAt = configuration.clock.now()
        pacer = TransferPacer(configuration)
        lastProgress = startedAt
        lastCheckpoint = startedAt
        switch recovered {
        case .nothing, .unusable: state = DownloadState()
        case .prefix(let source, let length):
            recorded = source
            finalURL = (try? DownloadURL(source.finalURL)) ?? url
            summary.bytesRecovered = length
            state = DownloadState(resuming: source.representation, length: length)
        case .elsewhere(let source, let length):
            recorded = source
            finalURL = (try? DownloadURL(source.finalURL)) ?? url
            summary.bytesRecovered = length
            state = DownloadState(resuming: source.representation, length: length, isFromOtherURL: true)
            triesLastURL = false
        }
        loop = AttemptLoop(
            configuration,
            environment.callbacks,
            seed: environment.seed,
            startedAt: startedAt,
            received: state.length
        )
    }

    /// Runs until the file is complete and renamed, or has failed.
    func run(after recovered: RecoveredPartial) async throws(DownloadError) -> DownloadSummary {
        onEvent(.started(received: state.length))
        if case .unusable(let reason) = recovered {
            summary.restarts += 1
            onEvent(.restarted(reason))
        }
        if state.length > 0 { startVerification() }
        do throws(DownloadError) {
            return try await loop.run(self)
        } catch {
            await savePartialFile(after: error)
            throw error
        }
    }

    /// Verifies a complete file and renames it; `nil` when another request must follow.
    private func conclude() async throws(DownloadError) -> DownloadSummary? {
        guard try await isPrefixIntact() else { return nil }
        try await awaitCheckpoint()
        try await commitComplete()
        if needsConfirmation { try await confirmComplete() }
        return try await finish()
    }

    /// Whether the complete file has no digest yet, and the server may have computed one meanwhile or must confirm the
    /// file.
    private var needsConfirmation: Bool {
        guard !hasConfirmed, request.expectedSHA256 == nil, let known = state.representation else { return false }
        return known.digest == nil && known.strongValidator != nil
            && (request.requiresProof
                || configuration.clock.now() - startedAt >= configuration.lateDigestInterval)
    }

    /// Requests the digest and validators of the complete file: once, or until there is a response if proof is
    /// required. No response discards received bytes.
    private func confirmComplete() async throws(DownloadError) {
        hasConfirmed = true
        let complete = state
        while true {
            let outcome = await send(.probe)
            guard !Task.isCancelled else { throw .cancelled }
            if case .proceed = outcome {
                if request.requiresProof { try await journalMetadata() }
                return
            }
            state.confirmationFailed(about: complete)
            if state.representation?.evidence.isContradicted == true { try await journalMetadata() }
            guard request.requiresProof else { return }
            guard case .retryable(let cause, let retryAfter, isImmediate: false) = outcome else { return }
            try await loop.wait(self, after: cause, retryAfter: retryAfter)
        }
    }

    /// Commits the complete file when no range request could fetch its end again after a crash.
    private func commitComplete() async throws(DownloadError) {
        guard state.representation?.strongValidator == nil else { return }
        try await journalMetadata()
        try await checkpoint()
    }

    /// Whether the file was assembled in a way that may be wrong, so that fetching it again may help.
    private func mayBeMixed(_ evidence: DownloadEvidence) -> Bool {
        guard summary.resumptions > 0 || summary.bytesRecovered > 0 else { return false }
        if case .none = DownloadProof(evidence, isDigestRight: false) { return true }
        return false
    }

    /// Verifies the complete file and renames it; `nil` when it is wrong and must be fetched again.
    private func finish() async throws(DownloadError) -> DownloadSummary? {
        let actual = file.sha256
        let expectations: [(DownloadVerification, [UInt8]?)] = [
            (.server, state.representation?.digest?.sha256), (.caller, request.expectedSHA256),
        ]
        var verified: Set<DownloadVerification> = []
        for (source, expected) in expectations {
            guard let expected else { continue }
            guard expected == actual else {
                summary.digestMismatches += 1
                // When the server vouches for these bytes, or they came in one piece, fetching them again can't help.
                let evidence = state.representation?.evidence ?? DownloadEvidence()
                if summary.digestMismatches > 1 || verified.contains(.server)
                    || (source == .caller && !mayBeMixed(evidence))
                {
                    throw .digestMismatch(source, expected: expected, actual: actual, file: mismatchPath)
                }
                state.digestMismatched()
                return nil
            }
            verified.insert(source)
        }
        if verified.isEmpty, state.representation?.requiresDigest == true {
            throw .digestMissing(file: mismatchPath)
        }
        let evidence = state.representation?.evidence ?? DownloadEvidence()
        let proof = DownloadProof(evidence, isDigestRight: !verified.isEmpty)
        if request.requiresProof, case .none(let unverifiedReason) = proof { throw .unproved(unverifiedReason) }
        try await file.finish()
        for source in [DownloadVerification.server, .caller] where verified.contains(source) {
            onEvent(.verified(source))
        }
        let finished = makeSummary(actual, verified, proof)
        onEvent(.finished(finished))
        return finished
    }

    /// The path for a complete file with a wrong digest; empty when it is removed.
    private var mismatchPath: String { configuration.keepsUnfinished ? file.paths.mismatch.string : "" }

    private func makeSummary(
        _ sha256: [UInt8],
        _ verified: Set<DownloadVerification>,
        _ proof: DownloadProof
    ) -> DownloadSummary {
        DownloadSummary(
            bytes: state.length,
            sha256: sha256,
            verified: verified,
            connections: summary.connections,
            resumptions: summary.resumptions,
            restarts: summary.restarts,
            bytesRecovered: summary.bytesRecovered,
            bytesReceived: summary.bytesReceived,
            proof: proof,
            finalURL: finalURL.text,
            duration: configuration.clock.now() - startedAt
        )
    }

    /// Leaves the partial file in the best state for the next run. A failure here only costs the newest bytes, and the
    /// original error is more useful.
    private func savePartialFile(after error: DownloadError) async {
        await stopVerification()
        guard configuration.keepsUnfinished else {
            _ = await runningCheckpoint?.finish()
            return await file.removeNames()
        }
        switch error {
        case .digestMismatch, .digestMissing: try? await file.moveAside()
        case .unproved(let unverifiedReason) where unverifiedReason.isSuspicious: try? await file.discard()
        case .fileSystem:
            // After a failed write or sync only earlier commits hold (unwritable pages may be lost), so none is added.
            _ = await runningCheckpoint?.finish()
        default:
            try? await awaitCheckpoint()
            if file.length == 0 {
                if !file.hasUnusableBytes { try? await file.discard() }
            } else {
                try? await checkpoint()
            }
        }
    }
}

extension DownloadSession {
    /// The redirect chain from the caller's original URL to the current one.
    var start: RedirectChain {
        var redirects = RedirectChain(namedURL)
        if url != namedURL { redirects.follow(url) }
        return redirects
    }
}

extension DownloadSession: AttemptedTransfer {
    var committed: Int64 { state.length }

    var startsOver: Bool {
        if case .send(.full(let reason)) = state.nextStep { reason != nil } else { false }
    }

    func nextStep() async throws(DownloadError) -> AttemptStep<RequestPlan, DownloadSummary> {
        switch state.nextStep {
        case .send(let plan): return .attempt(plan)
        case .finish: return try await conclude().map { .finished($0) } ?? .reconsider
        }
    }

    func attempt(_ plan: RequestPlan) async -> AttemptOutcome<TransientDownloadFailure, DownloadError> {
        let outcome = await send(plan)
        do throws(DownloadError) {
            try await awaitCheckpointIfDone()
            return outcome
        } catch {
            return .failed(error)
        }
    }

    func willWait(
        _ delay: Duration,
        after cause: TransientDownloadFailure,
        by rule: RetryRule
    ) async throws(DownloadError) {
        if cause != .partialOnly || delay > .zero { onEvent(.retrying(in: delay, cause, rule)) }
        try await checkpointBeforeAttempt(in: delay)
    }

    func willWaitForNetwork() { onEvent(.waitingForNetwork) }

    func use(_ credentials: DownloadCredentials) { self.credentials = credentials }

    func use(_ url: DownloadURL) {
        self.url = url
        triesLastURL = false
        state.urlChanged()
    }
}
