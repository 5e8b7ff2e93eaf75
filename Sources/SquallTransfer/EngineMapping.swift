internal import HTTPTypes
internal import TransferClient
internal import TransferProtocol

extension TransferRequest {
    /// Whether `text` is a valid field value.
    static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

extension StatusFeed {
    /// Updates the status for a download event. `Transfer` sets the final phase.
    func note(_ event: DownloadEvent) {
        switch event {
        case .started(let received): update { $0.advance(to: received) }
        case .progress(let received, let total):
            update { status in
                status.advance(to: received)
                status.totalBytes = total
            }
        case .resumed(let offset): update { $0.resume(at: offset) }
        case .retrying(let delay, let cause, _): update { $0.wait(delay, because: cause.description) }
        case .restarted(let reason):
            update { status in
                status.startOver(because: reason.description)
                status.note(reason)
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

    /// Updates the status for an upload event. `Transfer` sets the final phase.
    func note(_ event: UploadEvent, isRepeatable: Bool) {
        switch event {
        case .started(let total, let canBeCombined):
            update { status in
                if canBeCombined { status.resumability = .continues }
                status.phase = .transferring
                status.totalBytes = total
            }
        case .progress(let sent, let acknowledged, let total):
            update { status in
                status.advance(to: acknowledged, sent: sent)
                status.totalBytes = total
                guard status.resumability == .unknown, sent > 0 else { return }
                status.resumability = isRepeatable ? .startsOver(.noUploadResource) : .impossible(.notRepeatable)
            }
        case .resumed(let offset): update { $0.resume(at: offset) }
        case .retrying(let delay, let cause): update { $0.wait(delay, because: cause.description) }
        case .restarted(let reason):
            update { status in
                status.startOver(because: reason.description)
                status.resumability = .unknown
            }
        case .interimResponse(let status, let fields): update { $0.interimResponse = InterimResponse(status, fields) }
        case .waitingForNetwork: update { $0.phase = .waitingForNetwork }
        case .resumable: update { $0.resumability = .continues }
        case .verified: break
        case .finished(let summary): update { $0.advance(to: summary.bytes) }
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
    init(_ summary: DownloadSummary, file: String) {
        var unverifiedReason: String?
        if case .none(let reason) = summary.proof { unverifiedReason = reason.description }
        self.init(
            file: file,
            bytes: summary.bytes,
            sha256: summary.sha256,
            isVerified: !summary.verified.isEmpty,
            unverifiedReason: unverifiedReason,
            url: summary.finalURL,
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
    init(_ summary: UploadSummary) {
        self.init(
            bytes: summary.bytes,
            sha256: summary.sha256,
            proof: Proof(rawValue: summary.proof.rawValue),
            status: summary.status,
            dialect: summary.dialect,
            connections: summary.connections,
            resumptions: summary.resumptions,
            restarts: summary.restarts,
            bytesRepeated: summary.bytesRepeated,
            duration: summary.duration
        )
    }
}

extension TransferError {
    /// Converts an error; `progress` is what the last status says about resuming.
    init(_ error: DownloadError, _ token: ResumptionToken?, _ progress: Resumability = .unknown) {
        self.init(Code(error.code), error.description, status: error.status)
        if case .fileSystem(_, _, let errno) = error { systemError = errno.rawValue }
        decide(error.disposition, error.isResumable ? token : nil, error.obstacle)
        self.progress = error.reasonToStartOver.map { .startsOver($0) } ?? progress
    }

    /// Converts an error; `progress` is what the last status says about resuming.
    init(_ error: UploadError, _ token: ResumptionToken?, _ progress: Resumability = .unknown) {
        self.init(Code(error.code), error.description, status: error.status)
        if case .fileSystem(_, _, let errno) = error { systemError = errno.rawValue }
        decide(error.disposition, error.isResumable ? token : nil, error.obstacle)
        self.progress = error.reasonToStartOver.map { .startsOver($0) } ?? progress
    }

    /// Sets the token of a resumable transfer, or the reason why there is none.
    private mutating func decide(
        _ disposition: DownloadError.Disposition,
        _ token: ResumptionToken?,
        _ permanent: ResumptionObstacle
    ) {
        self.token = token
        obstacle =
            switch disposition {
            case .invalidInput: .wrongInput
            // A token remains: the transfer can be resumed with other credentials.
            case .final: token == nil ? permanent : nil
            case .resumable: token == nil ? .nothingKept : nil
            }
    }
}

extension TransferError.Code {
    init(_ code: TransferFailureCode) { self.init(rawValue: code.rawValue) }
}
