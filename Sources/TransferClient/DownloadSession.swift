import NIOCore
import NIOHTTPTypes
import NIOPosix
import SystemPackage
import TransferProtocol
import Units

/// One download from its first connection to its last: carries out what `DownloadState` decides.
///
/// Used by a single task, in order.
final class DownloadSession {
    let request: DownloadRequest
    let url: DownloadURL
    let configuration: TransferClientConfiguration
    let group: any EventLoopGroup
    let pool: NIOThreadPool
    let file: PartialFile
    let onEvent: @Sendable (DownloadEvent) -> Void
    let startedAt: Moment

    var state: DownloadState
    var schedule: RetrySchedule
    var summary = Tally()
    var finalURL: DownloadURL
    /// What the journal says of the source, to be told when more is known.
    var recorded: JournalSource?
    var lastProgress: Moment
    var lastCheckpoint: Moment
    var runningCheckpoint: Task<Result<Void, DownloadError>, Never>?
    private var hasAskedForDigest = false

    /// What is counted on the way.
    struct Tally {
        var connections = 0
        var resumptions = 0
        var restarts = 0
        var heldAtStart: Int64 = 0
        var bytesReceived: Int64 = 0
        var digestMismatches = 0
    }

    /// How an attempt ended.
    enum Outcome: Sendable {
        case decided(DownloadAction)
        case setback(DownloadSetback)
        case failed(DownloadError)
    }

    init(
        _ client: TransferClient,
        _ request: DownloadRequest,
        _ url: DownloadURL,
        _ file: PartialFile,
        _ remains: PartialFileRemains,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) {
        self.request = request
        self.url = url
        self.file = file
        self.onEvent = onEvent
        configuration = client.configuration
        group = client.eventLoopGroup
        pool = client.threadPool
        finalURL = url
        startedAt = configuration.clock.now()
        lastProgress = startedAt
        lastCheckpoint = startedAt
        switch remains {
        case .nothing, .unusable: state = DownloadState()
        case .prefix(let source, let length):
            recorded = source
            finalURL = (try? DownloadURL(source.finalURL)) ?? url
            summary.heldAtStart = length
            state = DownloadState(resuming: source.representation, length: length)
        }
        schedule = RetrySchedule(
            policy: configuration.retry,
            generator: SeededGenerator(seed: configuration.seed),
            startedAt: startedAt,
            held: state.length
        )
    }

    /// Works until the file is in its place, or until no further attempt makes sense.
    func run(after remains: PartialFileRemains) async throws(DownloadError) -> DownloadSummary {
        onEvent(.started(held: state.length))
        if case .unusable(let reason) = remains {
            summary.restarts += 1
            onEvent(.restarted(reason))
        }
        do throws(DownloadError) {
            while true {
                guard !Task.isCancelled else { throw .cancelled }
                switch state.nextStep {
                case .finish:
                    if isDigestWanted { try await askForDigest() }
                    if let finished = try await finish() { return finished }
                case .ask(let ask):
                    let outcome = await attempt(ask)
                    try await settle()
                    try await proceed(after: outcome)
                }
            }
        } catch {
            await keepWhatIsHeld(after: error)
            throw error
        }
    }

    /// Does what an attempt's outcome asks for, before the next attempt.
    private func proceed(after outcome: Outcome) async throws(DownloadError) {
        schedule.reached(state.length)
        switch outcome {
        case .failed(let error): throw error
        case .setback(let setback): try await wait(setback, after: nil)
        case .decided(let action):
            switch action {
            case .complete, .askForMore: return
            case .askAgain(let setback): try await wait(setback, after: nil, isImmediate: true)
            case .retry(let retryAfter, let setback): try await wait(setback, after: retryAfter)
            case .fail(let failure): throw .refused(failure)
            case .append, .appendDropping, .begin, .truncateAndRestart, .follow:
                preconditionFailure("an attempt ends only after it has received the body or followed the redirection")
            }
        }
    }

    private func wait(
        _ setback: DownloadSetback,
        after retryAfter: Duration?,
        isImmediate: Bool = false
    ) async throws(DownloadError) {
        guard !Task.isCancelled else { throw .cancelled }
        let now = configuration.clock.now()
        switch schedule.failed(at: now, retryAfter: retryAfter, isImmediate: isImmediate) {
        case .giveUp(let limit): throw .gaveUp(limit, setback)
        case .wait(let delay):
            onEvent(.retrying(in: delay, setback))
            guard delay > .zero else { return }
            try await checkpoint()
            do {
                try await configuration.clock.sleep(delay)
            } catch {
                throw .cancelled
            }
        }
    }

    /// Whether the complete file can't be checked, and the server may have learnt its digest meanwhile.
    private var isDigestWanted: Bool {
        guard !hasAskedForDigest, request.expectedSHA256 == nil, let known = state.representation else { return false }
        return known.digest == nil && known.strongValidator != nil
            && configuration.clock.now() - startedAt >= configuration.lateDigestInterval
    }

    /// Asks for the digest of the complete file, once. No answer takes anything back that is held.
    private func askForDigest() async throws(DownloadError) {
        hasAskedForDigest = true
        let complete = state
        let outcome = await attempt(.probe)
        guard !Task.isCancelled else { throw .cancelled }
        if case .decided(.complete) = outcome { return }
        state = complete
    }

    /// Checks the complete file and puts it in its place; `nil` when it is wrong and is to be fetched once more.
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
                // Where the server itself vouches for these bytes, fetching them again can't help.
                if summary.digestMismatches > 1 || verified.contains(.server) {
                    throw .digestMismatch(source, expected: expected, actual: actual)
                }
                state.digestMismatched()
                return nil
            }
            verified.insert(source)
        }
        if verified.isEmpty, state.representation?.isDigestOwed == true { throw .digestMissing }
        try await file.finish()
        for source in [DownloadVerification.server, .caller] where verified.contains(source) {
            onEvent(.verified(source))
        }
        let finished = makeSummary(actual, verified)
        onEvent(.finished(finished))
        return finished
    }

    private func makeSummary(_ sha256: [UInt8], _ verified: Set<DownloadVerification>) -> DownloadSummary {
        DownloadSummary(
            bytes: state.length,
            sha256: sha256,
            verified: verified,
            connections: summary.connections,
            resumptions: summary.resumptions,
            restarts: summary.restarts,
            heldAtStart: summary.heldAtStart,
            bytesReceived: summary.bytesReceived,
            isLengthUnknown: state.isLengthUnknown && verified.isEmpty,
            finalURL: finalURL.text,
            duration: configuration.clock.now() - startedAt
        )
    }

    /// Leaves the partial file as the next run can best use it. What fails now costs the newest bytes only, and the
    /// error that is thrown anyway says more.
    private func keepWhatIsHeld(after error: DownloadError) async {
        switch error {
        case .digestMismatch, .digestMissing: try? await file.discard()
        case .fileSystem:
            // After a failed write or synchronization only the promises made before it hold (a page that couldn't be
            // written may be gone), so none is added.
            _ = await runningCheckpoint?.value
        default:
            try? await settle()
            if file.length == 0 {
                try? await file.discard()
            } else {
                try? await checkpoint()
            }
        }
    }
}
