import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol
import Units

extension DownloadSession {
    /// So many redirections are followed in a row, at most.
    static let mostRedirections = 10

    /// Sends one request, follows its redirections, and writes what comes.
    ///
    /// The rest is asked of the URL that served bytes last, since another mirror may have another state of the file. Where
    /// that brings nothing, the way starts at the URL that was asked for: the last one may have expired.
    func attempt(_ ask: DownloadAsk) async -> Outcome {
        guard ask.isOfHeld, isLastURLOpen, finalURL != url else {
            return await attempt(ask, along: RequestTrail(url))
        }
        var trail = RequestTrail(url)
        trail.follow(finalURL)
        let held = state.length
        let outcome = await attempt(ask, along: trail)
        if state.length == held { isLastURLOpen = false }
        guard case .decided(.fail(let failure)) = outcome, let status = failure.status else { return outcome }
        return .decided(.askAgain(.status(status)))
    }

    /// Sends one request along the redirections behind those of `start`.
    private func attempt(_ ask: DownloadAsk, along start: RequestTrail) async -> Outcome {
        var trail = start
        for _ in 0...Self.mostRedirections {
            let outcome = await exchange(ask, at: trail)
            guard case .decided(.follow(let location)) = outcome else { return outcome }
            do throws(DownloadURLProblem) {
                trail.follow(try trail.current.resolving(location))
            } catch {
                return .failed(.invalidRedirection(location, error))
            }
            let target = trail.current.text
            onEvent(.redirected(url: target))
        }
        return .failed(.tooManyRedirections(Self.mostRedirections))
    }

    private func exchange(_ ask: DownloadAsk, at trail: RequestTrail) async -> Outcome {
        summary.connections += 1
        let remaining = schedule.remaining(at: configuration.clock.now())
        let exchange = surroundings.exchange(remaining)
        do {
            let fields = request.credentials.fields(for: trail)
            return try await exchange.perform(ask, at: trail.current, with: fields) { parts, spoken in
                try await self.receive(parts, spoken, ask, trail)
            }
        } catch let error as DownloadError {
            return .failed(error)
        } catch let problem as TLSSettingsProblem {
            return .failed(.invalidTLSSettings(problem))
        } catch {
            state.bodyCut()
            if let failure = DownloadExchange.refusal(of: error) {
                return .failed(.tlsRefused(host: trail.current.host, failure))
            }
            guard !Task.isCancelled, let setback = DownloadExchange.setback(of: error) else {
                return .failed(.cancelled)
            }
            return .setback(setback)
        }
    }

    /// Reads one response: decides on its head, writes its body, decides on its end.
    private func receive(
        _ parts: DownloadExchange.Parts,
        _ spoken: HTTPProtocol,
        _ ask: DownloadAsk,
        _ trail: RequestTrail
    ) async throws -> Outcome {
        let target = trail.current
        var iterator = parts.makeAsyncIterator()
        guard case .head(let response) = try await iterator.next() else {
            try Task.checkCancellation()
            return .setback(.connectionLost("it was closed before the answer"))
        }
        let head = DownloadResponseHead(
            status: response.status.code,
            fields: response.headerFields,
            isEndMarked: spoken == .http2,
            isFromElsewhere: state.representation != nil && !target.isSameResource(as: finalURL),
            credentialUse: request.credentials.use(for: trail)
        )
        let action = state.decide(on: head, to: ask, now: configuration.clock.secondsSince1970())
        let overlap: Int64
        switch action {
        case .append: overlap = 0
        case .appendDropping(let count): overlap = count
        case .repair(let offset): return try await repair(from: offset, &iterator, target)
        case .begin, .truncateAndRestart:
            try await startOver(action, target)
            overlap = 0
        case .complete, .askAgain, .askForMore, .retry, .follow, .fail: return .decided(action)
        }
        switch action {
        case .append, .appendDropping:
            guard try await isPrefixSound() else { return .decided(.askAgain(.heldBytesDamaged)) }
            finalURL = target
            isLastURLOpen = true
            summary.resumptions += 1
            onEvent(.resumed(offset: state.length))
            try await recordWhatIsKnown()
        default: break
        }
        defer { reportProgress(isLast: true) }
        var check = try await OverlapCheck(overlap, of: file)
        while let part = try await iterator.next() {
            switch part {
            case .head: return .setback(.malformedResponse("a second head"))
            case .body(let buffer):
                guard try await write(buffer, &check) else { return .decided(state.overlapDiffered()) }
                // What lies beyond the body's end may never end itself.
                if state.isBodyTooLong { return try await bodyEnded() }
            case .end(let trailers):
                let outcome = try await bodyEnded(trailers)
                try await noteSurplus(after: outcome, &iterator, framing: head.framing)
                return outcome
            }
        }
        state.bodyCut()
        try Task.checkCancellation()
        return .setback(.connectionLost("it was closed in the middle of the answer"))
    }

    /// Writes a body in the place of damaged bytes, and compares them with the journal.
    private func repair(
        from offset: Int64,
        _ iterator: inout DownloadExchange.Parts.AsyncIterator,
        _ target: DownloadURL
    ) async throws -> Outcome {
        finalURL = target
        isLastURLOpen = true
        var offset = offset
        var hasEnded = false
        while !hasEnded, state.damage != nil, let part = try await iterator.next() {
            switch part {
            case .head: return .setback(.malformedResponse("a second head"))
            case .body(let buffer):
                summary.bytesReceived += Int64(buffer.readableBytes)
                let portion = state.received(buffer.readableBytes)
                try await file.repair(Array(buffer.readableBytesView.prefix(portion.kept)), at: offset)
                offset += Int64(portion.kept)
            case .end: hasEnded = true
            }
        }
        let action = state.bodyEnded()
        try Task.checkCancellation()
        guard state.damage == nil else { return .decided(action) }
        return .decided(try await verifyRepair() ? .askForMore : .askAgain(.heldBytesDamaged))
    }

    private func bodyEnded(_ trailers: HTTPFields? = nil) async throws(DownloadError) -> Outcome {
        let action = state.bodyEnded(trailers: trailers)
        try await recordWhatIsKnown()
        return .decided(action)
    }

    /// Looks for bytes after a response that completes the file, which only a digest could vouch for otherwise: the length
    /// that its head named may be wrong then. Waits for the end of the connection for a moment.
    private func noteSurplus(
        after outcome: Outcome,
        _ iterator: inout DownloadExchange.Parts.AsyncIterator,
        framing: DownloadFraming
    ) async throws(DownloadError) {
        guard case .decided(.complete) = outcome, case .length = framing, request.expectedSHA256 == nil,
            state.representation?.digest == nil
        else { return }
        do {
            guard try await iterator.next() != nil else { return }
        } catch {
            guard DownloadExchange.isSurplus(error) else { return }
        }
        state.surplusFollowed()
        try await recordWhatIsKnown()
    }

    /// Empties the file for a whole representation, before its first byte is written.
    private func startOver(_ action: DownloadAction, _ target: DownloadURL) async throws(DownloadError) {
        finalURL = target
        isLastURLOpen = true
        if case .truncateAndRestart(let reason) = action {
            guard summary.restarts < configuration.maximumRestarts else {
                throw .tooManyRestarts(summary.restarts, reason)
            }
            summary.restarts += 1
            schedule.restarted()
            onEvent(.restarted(reason))
        }
        try await settle()
        await stopVerification()
        let source = JournalSource(
            url: url.text,
            finalURL: target.text,
            representation: state.representation ?? DownloadRepresentation()
        )
        try await file.startOver(source)
        recorded = source
        lastCheckpoint = configuration.clock.now()
    }

    /// Writes the new bytes of a part of the body; `false` when those that only repeat differ from the ones held.
    private func write(_ buffer: ByteBuffer, _ check: inout OverlapCheck) async throws(DownloadError) -> Bool {
        summary.bytesReceived += Int64(buffer.readableBytes)
        let portion = state.received(buffer.readableBytes)
        guard check.matches(buffer.readableBytesView.prefix(portion.dropped)) else { return false }
        guard portion.kept > 0 else { return true }
        try await file.append(Array(buffer.readableBytesView.dropFirst(portion.dropped).prefix(portion.kept)))
        try await checkpointIfDue()
        reportProgress()
        return true
    }
}

extension DownloadFailure {
    /// The status of an answer without the file; `nil` where something else is wrong.
    fileprivate var status: Int? {
        switch self {
        case .status(let status): status
        case .unauthorized(let challenge, _): challenge.isFromProxy ? 407 : 401
        case .contentEncoding, .redirectWithoutLocation: nil
        }
    }
}
