import HTTPTransport
import HTTPTypes
import SystemPackage
import TransferProtocol
import Units

/// One download over all its connections: carries out the decisions of `DownloadState`.
///
/// Used by a single task, in order.
final class DownloadSession {
    let request: DownloadRequest
    let configuration: TransferClientConfiguration
    let environment: TransferEnvironment
    let callbacks: TransferCallbacks
    let connections: any RequestSending
    let file: PartialFile
    let loop: AttemptLoop

    /// The caller's original URL; credentials go only to its origin.
    let namedURL: TransferURL
    /// The current URL: the original one or the caller's replacement.
    var url: TransferURL
    var credentials: RequestCredentials
    /// The host of the last request.
    var host: String
    var state: DownloadState
    /// The fields of the last response with content.
    var fields: HTTPFields = [:]
    var bytesCompared: Int64 = 0
    /// The redirects to the last URL that served bytes.
    var final: RedirectChain
    var finalURL: TransferURL { final.current }
    /// The source as last journalled.
    var recorded: JournalSource?
    var lastProgress: Moment?
    var lastCheckpoint: Moment
    var runningCheckpoint: RunningCheckpoint?
    /// The concurrent verification of bytes from an earlier run.
    var verification: Task<Result<Range<Int64>?, TransferError>, Never>?
    /// Whether the last URL that served bytes is tried first.
    var triesLastURL = true
    /// Whether a response has said its length in two ways.
    var hadAmbiguousLength = false
    private var digestMismatches = 0
    private var hasConfirmed = false

    init(
        _ environment: TransferEnvironment,
        _ request: DownloadRequest,
        _ url: TransferURL,
        _ file: PartialFile,
        _ recovered: RecoveredPartial,
        _ callbacks: TransferCallbacks = TransferCallbacks(),
        seed: UInt64,
        onEvent: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.request = request
        namedURL = url
        self.url = url
        credentials = request.credentials
        host = url.host
        self.file = file
        self.environment = environment
        self.callbacks = callbacks
        connections = environment.connections(.download)
        configuration = environment.configuration
        final = RedirectChain(url)
        let startedAt = configuration.clock.now()
        lastCheckpoint = startedAt
        let rules = DownloadState.Rules(
            hasExpectedDigest: request.expectedSHA256 != nil,
            storesCoded: request.storesCoded
        )
        switch recovered {
        case .nothing, .unusable: state = DownloadState(rules: rules)
        case .prefix(let source, let length, let isFromOtherURL):
            recorded = source
            final = Self.chain(from: url, to: source.finalURL)
            state = DownloadState(
                resuming: source.representation,
                length: length,
                isFromOtherURL: isFromOtherURL,
                rules: rules
            )
            triesLastURL = !isFromOtherURL
        }
        loop = AttemptLoop(
            configuration,
            callbacks,
            seed: seed,
            startedAt: startedAt,
            received: state.length,
            onEvent: onEvent
        )
        loop.counters.bytesRecovered = state.length
    }

    /// Runs until the file is complete and renamed, or has failed.
    func run(after recovered: RecoveredPartial) async throws(TransferError) -> TransferSummary {
        loop.onEvent(.started(completed: state.length))
        if case .unusable(let reason) = recovered {
            loop.counters.restarts += 1
            loop.onEvent(.restarted(reason))
        }
        if state.length > 0 { startVerification() }
        do throws(TransferError) {
            if let finished = try await alreadyComplete() { return finished }
            return try await loop.run(self)
        } catch {
            throw await savePartialFile(after: error)
        }
    }

    /// The summary of a destination that has the expected digest already: nothing is requested, and what an earlier run
    /// left beside it is removed.
    private func alreadyComplete() async throws(TransferError) -> TransferSummary? {
        guard let expected = request.expectedSHA256,
            let length = try await file.paths.synchronizeDestination(withSHA256: expected, in: file.files, file.worker)
        else { return nil }
        await stopVerification()
        try? await file.discard()
        loop.onEvent(.verified(.caller))
        loop.counters.bytesRecovered = length
        return summary(length, expected, [.caller], .digest)
    }

    /// Verifies a complete file and renames it; `nil` when another request must follow.
    private func conclude() async throws(TransferError) -> TransferSummary? {
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
                || configuration.clock.now() - loop.startedAt >= configuration.lateDigestInterval)
    }

    /// Requests the digest and validators of the complete file: once, or until there is a response if proof is
    /// required. No response discards received bytes.
    private func confirmComplete() async throws(TransferError) {
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
    private func commitComplete() async throws(TransferError) {
        guard state.representation?.strongValidator == nil else { return }
        try await journalMetadata()
        try await checkpoint()
    }

    /// Whether the file was assembled in a way that may be wrong, so that fetching it again may help.
    private func mayBeMixed(_ evidence: DownloadEvidence) -> Bool {
        guard loop.counters.resumptions > 0 || loop.counters.bytesRecovered > 0 else { return false }
        if case .none = DownloadProof(evidence, isDigestRight: false) { return true }
        return false
    }

    /// Verifies the complete file and renames it; `nil` when it is wrong and must be fetched again.
    private func finish() async throws(TransferError) -> TransferSummary? {
        let actual = file.sha256
        let expectations: [(DigestSource, [UInt8]?)] = [
            (.server, state.representation?.digest?.sha256), (.caller, request.expectedSHA256),
        ]
        var verified: Set<DigestSource> = []
        for (source, expected) in expectations {
            guard let expected else { continue }
            guard expected == actual else {
                digestMismatches += 1
                // When the server vouches for these bytes, or they came in one piece, fetching them again can't help, unless
                // they replaced others: a login page may have done that.
                let evidence = state.representation?.evidence ?? DownloadEvidence()
                if digestMismatches > 1 || verified.contains(.server)
                    || (source == .caller && !mayBeMixed(evidence) && loop.counters.restarts == 0)
                {
                    throw .digestMismatch(source, expected: expected, actual: actual, file: "")
                }
                state.digestMismatched()
                return nil
            }
            verified.insert(source)
        }
        if verified.isEmpty, state.representation?.requiresDigest == true {
            throw .digestMissing(file: "")
        }
        let evidence = state.representation?.evidence ?? DownloadEvidence()
        let proof = DownloadProof(evidence, isDigestRight: !verified.isEmpty)
        if request.requiresProof, case .none(let unverifiedReason) = proof { throw .unproved(unverifiedReason) }
        try await callbacks.willFinish?(state.length, actual)
        try await file.finish(replaces: request.replacesFile)
        for source in [DigestSource.server, .caller] where verified.contains(source) {
            loop.onEvent(.verified(source))
        }
        return summary(state.length, actual, verified, proof)
    }

    private func summary(
        _ length: Int64,
        _ sha256: [UInt8],
        _ verified: Set<DigestSource>,
        _ proof: DownloadProof
    ) -> TransferSummary {
        let details = DownloadDetails(
            verified: verified,
            bytesCompared: bytesCompared,
            proof: proof,
            finalURL: finalURL.text,
            fields: fields
        )
        return loop.finish(length, sha256, .download(details))
    }

    /// Leaves the partial file in the best state for the next run; returns the error, with the place of a wrong file. A failure
    /// here only costs the newest bytes, and the original error is more useful.
    private func savePartialFile(after error: TransferError) async -> TransferError {
        await stopVerification()
        guard configuration.keepsUnfinished else {
            _ = await runningCheckpoint?.finish()
            await file.removeNames()
            return error
        }
        switch error {
        case .digestMismatch(let source, let expected, let actual, _):
            return .digestMismatch(source, expected: expected, actual: actual, file: await movedAside())
        case .digestMissing: return .digestMissing(file: await movedAside())
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
        return error
    }

    /// Moves the file aside; returns where it is: where it was when it can't be moved, and nowhere when its name is gone.
    private func movedAside() async -> String {
        do throws(TransferError) {
            try await file.moveAside()
            return file.paths.mismatch.string
        } catch {
            if case .invalidFile = error { return "" }
            return file.paths.data.string
        }
    }
}

extension DownloadSession {
    /// The redirects to a URL from a journal, which doesn't tell those between: they may have left the origin.
    private static func chain(from url: TransferURL, to text: String) -> RedirectChain {
        guard let last = try? TransferURL(text), last != url else { return RedirectChain(url) }
        return RedirectChain(url, throughUnknownTo: last)
    }

    /// The redirect chain from the caller's original URL to the current one.
    var start: RedirectChain { RedirectChain(namedURL, to: url) }
}

extension DownloadSession: AttemptedTransfer {
    var committed: Int64 { state.length }

    var startsOver: Bool {
        if case .send(.full(let reason)) = state.nextStep { reason != nil } else { false }
    }

    func nextStep() async throws(TransferError) -> AttemptStep<RequestPlan> {
        switch state.nextStep {
        case .send(let plan): return .attempt(plan)
        case .finish: return try await conclude().map { .finished($0) } ?? .reconsider
        }
    }

    func attempt(_ plan: RequestPlan) async -> AttemptOutcome {
        let outcome = await send(plan)
        do throws(TransferError) {
            try await awaitCheckpointIfDone()
            return outcome
        } catch {
            return .failed(error)
        }
    }

    func willWait(
        _ delay: Duration,
        after cause: TransientFailure,
        by rule: RetryRule
    ) async throws(TransferError) {
        if cause != .partialOnly || delay > .zero { loop.onEvent(.retrying(in: delay, cause, rule)) }
        try await checkpointBeforeAttempt(in: delay)
    }

    func use(_ credentials: RequestCredentials) { self.credentials = credentials }

    func use(_ url: TransferURL) {
        self.url = url
        triesLastURL = false
        state.urlChanged()
    }
}
