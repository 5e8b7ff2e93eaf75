internal import DurableFiles
internal import FoundationEssentials
internal import HTTPTransport
internal import HTTPTypes
internal import Synchronization
internal import SystemPackage
internal import TransferClient
internal import TransferProtocol
internal import Units

/// Runs the transfers of a queue, each by the engine.
struct QueueTransfers: Sendable {
    /// The folder of the journals of unfinished uploads.
    let uploads: FilePath
    let tls: (any ClientTLS)?
    let proxies: ProxySettings

    /// Attempts in a row without progress in one run, before the queue's own wait: 4.
    private static let attempts = 4

    /// Runs a transfer until it is complete, has failed, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - secrets: The values of headers that are in memory, by their names in lower case.
    ///   - onProgress: Called with each progress.
    ///   - willFinish: Called before the last step; the transfer fails if it throws.
    func run(
        _ job: QueueJob,
        secrets: [String: String],
        onProgress: @escaping @Sendable (QueueProgress) -> Void,
        willFinish: @escaping @Sendable (QueueResult) async throws(TransferError) -> Void
    ) async -> QueueOutcome {
        let credentials: RequestCredentials
        do throws(QueueSecretProblem) {
            credentials = try QueueSecrets.credentials(of: job.transfer, memory: secrets)
        } catch {
            return .needs(.secret, error.description)
        }
        let tracker = ProgressTracker()
        let report: @Sendable (TransferEvent) -> Void = { event in
            if let progress = tracker.note(event) { onProgress(progress) }
        }
        var callbacks = TransferCallbacks()
        callbacks.willFinish = { (bytes, sha256) async throws(TransferError) in
            try await willFinish(QueueResult(bytes: bytes, sha256: sha256))
        }
        let engine = engine(for: job.transfer)
        do throws(TransferError) {
            if let proof = job.proof, try await isFinished(job.transfer, proof, engine) { return .completed(proof) }
            let summary: TransferSummary
            switch job.transfer.direction {
            case .download:
                let request = DownloadRequest(
                    url: job.transfer.url,
                    expectedSHA256: job.transfer.sha256,
                    requiresProof: job.transfer.requiresProof,
                    credentials: credentials
                )
                let file = FilePath(job.transfer.file)
                summary = try await engine.download(request, to: file, callbacks: callbacks, onEvent: report)
            case .upload:
                var request = uploadRequest(job.transfer, credentials)
                request.mayBeSent = job.mayBeSent == true
                let content = try await engine.content(of: FilePath(job.transfer.file))
                if let named = job.transfer.sha256 { try await content.check(named) }
                summary = try await engine.upload(content, request, callbacks: callbacks, onEvent: report)
            }
            return .completed(QueueResult(bytes: summary.bytes, sha256: summary.sha256))
        } catch {
            return error.outcome(hasProgressed: tracker.hasProgressed, hasSent: tracker.hasSent)
        }
    }

    /// Whether an earlier run has done everything but saying so.
    private func isFinished(
        _ transfer: QueuedTransfer,
        _ proof: QueueResult,
        _ engine: TransferEngine
    ) async throws(TransferError) -> Bool {
        switch transfer.direction {
        case .download:
            try await engine.isFinished(FilePath(transfer.file), bytes: proof.bytes, sha256: proof.sha256)
        // The proof of an upload is the server's word.
        case .upload: true
        }
    }

    /// The host that connections to an origin go to: its own, or its proxy.
    func nextHop(to origin: String) -> String {
        guard let url = try? TransferURL(origin) else { return origin }
        return (try? proxies.proxy(for: url))?.host ?? url.host
    }

    /// The time to ask servers to remove the parts of uploads: 10 s.
    static let discardLimit = Duration.seconds(10)

    /// Removes what the runs of a transfer have left: the partial file of a download, or the journal of an upload and its part
    /// on the server, which gets one request.
    ///
    /// - Parameters:
    ///   - secrets: The values of headers that are in memory, by their names in lower case.
    ///   - limit: The time for the request.
    func discard(_ transfer: QueuedTransfer, secrets: [String: String], within limit: Duration) async {
        let file = FilePath(transfer.file)
        switch transfer.direction {
        case .download: try? await engine(for: transfer).discardDownload(at: file)
        case .upload:
            let engine = engine(for: transfer, within: limit)
            let credentials = (try? QueueSecrets.credentials(of: transfer, memory: secrets)) ?? .none
            guard let content = try? await engine.content(of: file) else { return }
            try? await engine.discardUpload(content, uploadRequest(transfer, credentials))
        }
    }

    /// The name of an upload's journal; `nil` if the file can't be opened. Uploads with one name resume each other.
    func journalName(of transfer: QueuedTransfer) async -> String? {
        let engine = engine(for: transfer)
        guard let content = try? await engine.content(of: FilePath(transfer.file)) else { return nil }
        return try? engine.journalName(of: content, uploadRequest(transfer, .none))
    }

    private func engine(for transfer: QueuedTransfer, within limit: Duration? = nil) -> TransferEngine {
        var configuration = TransferClientConfiguration()
        configuration.retry.deadline = limit
        configuration.retry.maximumAttempts = Self.attempts
        configuration.firstByteLimit = transfer.requestTimeLimit
        configuration.stall.window = transfer.requestTimeLimit
        configuration.uploadResponseLimit = transfer.requestTimeLimit
        configuration.progressInterval = .milliseconds(500)
        configuration.maximumRate = transfer.maximumRate.map { .bytesPerSecond(min(max(1, $0), 1 << 60 - 1)) }
        configuration.tls = tls
        configuration.proxies = proxies
        return TransferEngine(configuration: configuration)
    }

    private func uploadRequest(_ transfer: QueuedTransfer, _ credentials: RequestCredentials) -> UploadRequest {
        var request = UploadRequest(url: transfer.url, journalFolder: uploads)
        if let method = transfer.method.flatMap({ HTTPRequest.Method($0) }) { request.method = method }
        if let type = transfer.contentType { request.fields[.contentType] = type }
        request.isRepeatable = transfer.isRepeatable
        request.sha256 = transfer.sha256
        request.credentials = credentials
        return request
    }
}

/// Tracks the progress of a run by its events.
final class ProgressTracker: Sendable {
    private struct State {
        var progress = QueueProgress()
        /// The most bytes that the transfer had in this run. Those that it gets again after it started over are no progress.
        var highest: Int64?
        var hasProgressed = false
        var hasSent = false
    }

    private let state = Mutex(State())

    /// The progress after an event; `nil` if it doesn't change it.
    func note(_ event: TransferEvent) -> QueueProgress? {
        state.withLock { state in
            switch event {
            case .started(let completed, let total, _):
                state.progress = QueueProgress(completed: completed, total: total)
                // What an upload has is known later.
                if total == nil { state.highest = completed }
                if total == 0 { state.hasSent = true }
            case .progress(let completed, let sent, let total):
                state.progress = QueueProgress(completed: completed, total: total ?? state.progress.total)
                if let highest = state.highest, completed > highest { state.hasProgressed = true }
                state.highest = max(state.highest ?? completed, completed)
                if let sent, sent > 0 { state.hasSent = true }
            case .resumed(let offset): if state.highest == nil { state.highest = offset }
            case .restarted: state.progress.completed = 0
            case .finished(let summary):
                state.progress = QueueProgress(completed: summary.bytes, total: summary.bytes)
            default: return nil
            }
            return state.progress
        }
    }

    /// Whether the transfer got further than it was at the start of the run.
    var hasProgressed: Bool { state.withLock { $0.hasProgressed } }
    /// Whether content of an upload was sent.
    var hasSent: Bool { state.withLock { $0.hasSent } }
}

extension QueuedTransfer {
    /// Throws when nothing can be written to the file, or read from it, as long as it is what it is.
    func checkFile() throws(QueueProblem) {
        do throws(TransferError) {
            try TransferEngine.checkName(FilePath(file), isForUpload: direction == .upload)
        } catch {
            throw .invalid("file", error.description)
        }
    }
}

extension TransferError {
    /// What a queue makes of a failure. Only what another try can't change ends a job.
    ///
    /// - Parameter hasSent: Whether content of an upload was sent.
    func outcome(hasProgressed: Bool, hasSent: Bool = false) -> QueueOutcome {
        func retry(_ reason: QueueReason, atLeast: Duration = .zero, mayBeRepeated: Bool = true) -> QueueOutcome {
            .retry(
                reason,
                description,
                hasProgressed: hasProgressed,
                atLeast: atLeast,
                mayBeRepeated: mayBeRepeated
            )
        }
        switch self {
        case .cancelled: return .stopped(hasProgressed: hasProgressed, mayBeRepeated: !hasSent)
        case .gaveUp(.retryAfter(let wait), _): return retry(.retry, atLeast: wait)
        // Each restart is an attempt that failed.
        case .tooManyRestarts: return .retry(.retry, description, hasProgressed: false)
        case .gaveUp, .streamFailed: return retry(.retry)
        case .sourceChanged: return retry(.retry, mayBeRepeated: !hasSent)
        case .locked: return retry(.locked)
        case .tlsRefused: return retry(.tls)
        case .refused(.unauthorized(let challenge, _)) where !challenge.isFromProxy:
            return .needs(.credentials, description)
        case .refused(.unauthorized): return retry(.retry)
        case .refused(let refusal):
            // What servers of signed URLs answer when a signature has expired.
            return [400, 403, 410].contains(refusal.status)
                ? .needs(.url, description) : .failed(.refused, description)
        // After the answer, too, when its record can't be written.
        case .fileSystem(_, _, .noSpace), .fileSystem(_, _, .diskQuotaExceeded):
            return retry(.diskFull, mayBeRepeated: !hasSent)
        case .fileSystem where isOfPath: return .failed(.invalid, description)
        case .fileSystem: return retry(.folder, mayBeRepeated: !hasSent)
        // The partial file was removed underneath, or something got the name of the destination.
        case .invalidFile where hasProgressed: return retry(.folder)
        case .digestMismatch, .digestMissing, .digestRejected, .digestDiffers, .unproved:
            return .failed(.digest, description)
        case .tooManyRedirections: return .failed(.refused, description)
        // The location may have a signature, and logs have the message.
        case .invalidRedirection(_, let problem):
            return .failed(.refused, "the server redirected to a URL that can't be requested: \(problem)")
        case .invalidURL, .invalidTLSSettings, .invalidProxy, .invalidFile, .invalidDigest, .invalidCredentials,
            .streamTooLong:
            return .failed(.invalid, description)
        }
    }
}
