internal import HTTPTypes
internal import TransferClient
internal import TransferProtocol

extension TransferRequest {
    /// Whether `text` is a valid field value.
    static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

/// The engine's errors.
typealias EngineError = TransferClient.TransferError

extension StatusFeed {
    /// Updates the status for an event. `Transfer` sets the final phase.
    ///
    /// - Parameter withoutResource: The resumability of an upload while the server names no upload resource; `nil` for a
    ///   download.
    func note(_ event: TransferEvent, withoutResource: Resumability? = nil) {
        switch event {
        case .started(let completed, let total, let isContinued):
            update { status in
                status.advance(to: completed)
                status.totalBytes = total
                if isContinued { status.resumability = .continues }
            }
        case .progress(let completed, let sent, let total):
            update { status in
                status.advance(to: completed, sent: sent)
                status.totalBytes = total
                guard let withoutResource, status.resumability == .unknown, let sent, sent > 0 else { return }
                status.resumability = withoutResource
            }
        case .resumable: update { $0.resumability = .continues }
        case .resumed(let offset): update { $0.resume(at: offset) }
        case .retrying(let delay, let cause, _): update { $0.wait(delay, because: cause.description) }
        case .restarted(let reason):
            update { status in
                status.startOver(because: reason.description)
                if withoutResource == nil { status.note(reason) } else { status.resumability = .unknown }
            }
        case .redirected(let url): update { $0.redirectedTo = url }
        case .interimResponse(let status, let fields): update { $0.interimResponse = InterimResponse(status, fields) }
        case .waitingForNetwork: update { $0.phase = .waitingForNetwork }
        case .verified: break
        case .finished(let summary):
            update { status in
                status.advance(to: summary.bytes)
                status.totalBytes = summary.bytes
            }
        }
    }
}

extension TransferStatus {
    fileprivate mutating func advance(to completed: Int64, sent: Int64? = nil) {
        phase = .transferring
        nextAttempt = nil
        (completedBytes, sentBytes) = (completed, sent ?? completed)
    }

    fileprivate mutating func resume(at offset: Int64) {
        resumptions += 1
        resumability = .continues
        lastResumption = Resumption(offset: offset, instant: .now)
        advance(to: offset)
    }

    fileprivate mutating func wait(_ delay: Duration, because reason: String) {
        phase = .waiting
        (nextAttempt, failureReason) = (delay, reason)
    }

    fileprivate mutating func startOver(because reason: String) {
        restarts += 1
        (completedBytes, sentBytes, failureReason) = (0, 0, reason)
    }
}

extension DownloadResult {
    init(_ summary: TransferSummary, file: String) {
        guard let details = summary.download else { preconditionFailure("A download ends as a download") }
        var unverifiedReason: String?
        if case .none(let reason) = details.proof { unverifiedReason = reason.description }
        self.init(
            file: file,
            bytes: summary.bytes,
            sha256: summary.sha256,
            isVerified: !details.verified.isEmpty,
            unverifiedReason: unverifiedReason,
            url: details.finalURL,
            connections: summary.connections,
            resumptions: summary.resumptions,
            restarts: summary.restarts,
            bytesRecovered: summary.bytesRecovered,
            bytesRepeated: summary.bytesRepeated,
            duration: summary.duration
        )
    }
}

extension UploadResult {
    init(_ summary: TransferSummary) {
        guard let details = summary.upload else { preconditionFailure("An upload ends as an upload") }
        self.init(
            bytes: summary.bytes,
            sha256: summary.sha256,
            proof: Proof(rawValue: details.proof.rawValue),
            response: details.response.map { Response($0) },
            dialect: details.dialect,
            connections: summary.connections,
            resumptions: summary.resumptions,
            restarts: summary.restarts,
            bytesRepeated: summary.bytesRepeated,
            duration: summary.duration
        )
    }
}

extension UploadResult.Response {
    init(_ response: UploadedResponse) {
        self.init(
            status: response.status,
            headers: response.fields.map { TransferHeader($0.name.rawName, $0.value) },
            body: response.body
        )
    }
}

extension TransferError {
    /// Converts an error; `progress` is what the last status says about resuming.
    init(_ error: EngineError, _ token: ResumptionToken?, _ progress: Resumability = .unknown) {
        self.init(Code(error.code), error.description, status: error.status)
        if case .fileSystem(_, _, let errno) = error { systemError = errno.rawValue }
        self.token = error.isResumable ? token : nil
        obstacle =
            switch error.disposition {
            case .invalidInput: .wrongInput
            // A token remains: the transfer can be resumed with other credentials.
            case .final: self.token == nil ? error.obstacle : nil
            case .resumable: self.token == nil ? .nothingKept : nil
            }
        self.progress = error.reasonToStartOver.map { .startsOver($0) } ?? progress
    }

    /// Converts the failure of a transfer that keeps no state.
    init(keepingNothing error: EngineError) {
        self.init(error, nil)
        if obstacle != .wrongInput { obstacle = .nothingKept }
    }
}

extension TransferError.Code {
    init(_ code: TransferFailureCode) { self.init(rawValue: code.rawValue) }
}
