import Digests
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
    let loop: AttemptLoop

    var metadata: UploadMetadata
    /// The host of the last request.
    var host: String
    var state: UploadState
    /// The state before the last response, restored when the caller resolves a refusal.
    var stateBeforeResponse: UploadState
    /// The last successful response to a request with content.
    var response: UploadedResponse?
    /// Whether the offset at which this run started is known.
    var hasStartOffset = false
    private var reportedRestarts: Int
    private let willFinish: (@Sendable (_ bytes: Int64, _ sha256: [UInt8]) async throws(TransferError) -> Void)?

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
        configuration = environment.configuration
        connections = environment.connections(.upload)
        executor = environment.executor
        metadata = UploadMetadata(
            creationFields: request.fields,
            digest: ReprDigest(sha256: sha256),
            credentials: request.credentials
        )
        willFinish = callbacks.willFinish
        loop = AttemptLoop(configuration, callbacks, seed: seed, startedAt: startedAt, onEvent: onEvent)
    }

    /// Runs until the server has the file, or the upload has failed.
    func run(restarting reason: RestartReason?) async throws(TransferError) -> TransferSummary {
        loop.onEvent(.started(total: source.identity.length, isContinued: state.resource != nil))
        if let reason { loop.restarted(reason) }
        do throws(TransferError) {
            return try await loop.run(self)
        } catch {
            throw await leave(after: error)
        }
    }

    /// Compares the server's digest and finishes the upload.
    private func finish(_ result: UploadResult) async throws(TransferError) -> TransferSummary {
        let response = result.status == response?.status ? response : nil
        var digest = result.digest?.sha256
        if let named = digest, response?.describesItself(by: named, file: sha256, at: state.creationURL) == true {
            digest = nil
        }
        if let digest {
            guard digest == sha256 else { throw .digestRejected(sent: sha256, received: digest) }
            loop.onEvent(.verified(.server))
        }
        try await willFinish?(source.identity.length, sha256)
        try await journal.remove()
        let proof: UploadProof = digest != nil ? .digest : result.status != nil ? .accepted : .complete
        let details = UploadDetails(
            proof: proof,
            response: response,
            dialect: (result.dialect?.interopVersion).map { Int($0) }
        )
        return loop.finish(source.identity.length, sha256, .upload(details))
    }

    /// Leaves the journal in the best state for the next run; the error names one that a refusal keeps. Errors here are
    /// less useful than the original one.
    private func leave(after error: TransferError) async -> TransferError {
        switch error {
        case .refused(.uploadRefused(let status, _)):
            return .refused(.uploadRefused(status: status, journal: journal.path))
        case .refused where state.resource != nil: break
        case .sourceChanged, .refused, .digestRejected:
            state.abandon()
            await cancelAbandoned()
            try? await journal.remove()
        default: break
        }
        return error
    }

    /// Asks the server once to cancel unwanted uploads. If it declines, they expire.
    func cancelAbandoned() async {
        for resource in state.removeAbandoned() where !Task.isCancelled {
            let (request, url) = state.request(for: .cancel(resource), creation: request.method, metadata)
            loop.counters.connections += 1
            try? await connections.send(request, to: url, nil, within: loop.remaining) { parts, _ in
                for try await part in parts {
                    if case .head(let head) = part, head.status.kind != .informational { return }
                }
            }
        }
    }
}

extension UploadedResponse {
    /// Whether a `Repr-Digest` is that of the content of this response, which isn't the file at `target` but tells of the
    /// request (RFC 9530, section 3.1).
    fileprivate func describesItself(by digest: [UInt8], file: [UInt8], at target: TransferURL) -> Bool {
        // A broken connection may have lost the body.
        guard !body.isEmpty || (fields[.contentLength] ?? "0") != "0" else { return false }
        if let location = fields[.contentLocation], (try? target.resolving(location)) == target { return false }
        return digest != file || digest == SHA256.hash(body)
    }
}

extension UploadSession: AttemptedTransfer {
    var committed: Int64 { state.acknowledged }
    var startsOver: Bool { false }

    func nextStep() async throws(TransferError) -> AttemptStep<UploadRequestPlan> {
        if state.restarts > reportedRestarts {
            reportedRestarts = state.restarts
            loop.restarted(.uploadGone)
        }
        await cancelAbandoned()
        guard !Task.isCancelled else { throw .cancelled }
        switch state.nextStep() {
        case .finish(let result): return .finished(try await finish(result))
        case .fail(let failure): throw .refused(failure)
        case .send(let plan): return .attempt(plan)
        }
    }

    func willWait(_ delay: Duration, after cause: TransientFailure, by rule: RetryRule) async throws(TransferError) {
        loop.onEvent(.retrying(in: delay, cause, rule))
    }

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
