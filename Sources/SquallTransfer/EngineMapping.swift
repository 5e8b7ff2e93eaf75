internal import Logging
internal import SystemPackage
internal import TransferClient
internal import TransferProtocol

/// The engine's errors.
typealias EngineError = TransferClient.TransferError

extension StatusFeed {
    /// Updates the status for an event. `Transfer` sets the final phase.
    ///
    /// - Parameter withoutResource: The resumability of an upload while the server names no upload resource; `nil` for a
    ///   download.
    func note(_ event: TransferEvent, withoutResource: Resumability? = nil) {
        event.log(to: logger)
        onEvent?(event)
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
        case .interimResponse(let status, let fields):
            update { $0.interimResponse = InterimResponse(status: status, headers: fields) }
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

extension TransferError {
    /// Converts an error; `progress` is what the last status says about resuming.
    init(_ error: EngineError, _ token: ResumptionToken?, _ progress: Resumability = .unknown) {
        self.init(Code(error.code), error.description, status: error.status)
        cause = error
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

extension FilePath {
    /// The path in a text.
    ///
    /// - Throws: `.invalidFile` for a NUL character, where the system's path would end.
    init(checked text: String) throws(EngineError) {
        guard !text.utf8.contains(0) else {
            throw .invalidFile(text.replacing("\0", with: "␀"), "it has a NUL character")
        }
        self.init(text)
    }
}

extension TransferError.Code {
    init(_ code: TransferFailureCode) { self.init(rawValue: code.rawValue) }
}

extension TransferEvent {
    /// Logs everything but progress.
    fileprivate func log(to logger: Logger?) {
        guard let logger else { return }
        switch self {
        case .started(let completed, let total, _):
            logger.info("transfer started", metadata: ["completed": "\(completed)", "total": "\(total ?? -1)"])
        case .resumable(let dialect): logger.debug("upload resource created", metadata: ["dialect": "\(dialect)"])
        case .progress: break
        case .resumed(let offset): logger.info("transfer resumed", metadata: ["offset": "\(offset)"])
        case .retrying(let delay, let cause, let rule):
            logger.notice(
                "attempt failed",
                metadata: ["code": "\(cause.code)", "reason": "\(cause)", "delay": "\(delay)", "rule": "\(rule.code)"]
            )
        case .restarted(let reason):
            logger.warning("transfer restarted", metadata: ["code": "\(reason.code)", "reason": "\(reason)"])
        case .redirected(let url): logger.debug("redirected", metadata: ["url": "\(url)"])
        case .interimResponse(let status, _): logger.debug("interim response", metadata: ["status": "\(status)"])
        case .waitingForNetwork: logger.notice("waiting for a network")
        case .verified(let source): logger.debug("digest verified", metadata: ["source": "\(source.rawValue)"])
        case .finished(let summary): logger.info("transfer finished", metadata: ["bytes": "\(summary.bytes)"])
        }
    }
}
