import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol
import Units

extension DownloadSession {
    /// So many redirections are followed in a row, at most.
    static let mostRedirections = 10

    typealias Outcome = AttemptOutcome<DownloadSetback, DownloadError>

    /// The end of one exchange.
    private enum Exchanged: Sendable {
        case redirected(location: String)
        case ended(Outcome)
    }

    /// Sends one request, follows its redirections, and writes what comes.
    ///
    /// The rest is asked of the URL that served bytes last, since another mirror may have another state of the file. Where
    /// that brings nothing, the way starts at the URL that was asked for: the last one may have expired.
    func send(_ ask: DownloadAsk) async -> Outcome {
        guard ask.isOfHeld, isLastURLOpen, finalURL != url else {
            return await send(ask, along: start)
        }
        var trail = start
        trail.follow(finalURL)
        let held = state.length
        let outcome = await send(ask, along: trail)
        if state.length == held { isLastURLOpen = false }
        switch outcome {
        case .refused(let refusal, _, _): return .failedForNow(.status(refusal.status), isImmediate: true)
        case .failed(let failure):
            return failure.setbackOfLastURL.map { .failedForNow($0, isImmediate: true) } ?? outcome
        case .proceed, .failedForNow: return outcome
        }
    }

    /// Sends one request along the redirections after those of `start`.
    private func send(_ ask: DownloadAsk, along start: RequestTrail) async -> Outcome {
        var trail = start
        for _ in 0...Self.mostRedirections {
            let location: String
            switch await exchange(ask, at: trail) {
            case .ended(let outcome): return outcome
            case .redirected(let target): location = target
            }
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

    private func exchange(_ ask: DownloadAsk, at trail: RequestTrail) async -> Exchanged {
        summary.connections += 1
        host = configuration.nextHop(to: trail.current)
        let exchange = surroundings.exchange(loop.remaining)
        do {
            let fields = credentials.fields(for: trail)
            return try await exchange.perform(ask, at: trail.current, with: fields) { parts, spoken in
                try await self.receive(parts, spoken, ask, trail)
            }
        } catch let error as DownloadError {
            return .ended(.failed(error))
        } catch let problem as TLSSettingsProblem {
            return .ended(.failed(.invalidTLSSettings(problem)))
        } catch {
            state.bodyCut()
            if let failure = DownloadExchange.refusal(of: error) {
                return .ended(.failed(.tlsRefused(host: trail.current.host, failure)))
            }
            if let challenge = DownloadExchange.proxyChallenge(of: error) {
                return .ended(.failed(.refused(.unauthorized(challenge, .none))))
            }
            guard !Task.isCancelled, let setback = DownloadExchange.setback(of: error) else {
                return .ended(.failed(.cancelled))
            }
            return .ended(.failedForNow(setback))
        }
    }

    /// The outcome that a decision stands for.
    private func outcome(of conclusion: DownloadConclusion, at trail: RequestTrail) -> Outcome {
        switch conclusion {
        case .complete: return .proceed
        case .askForMore: return .failedForNow(.partOnly)
        case .askAgain(let setback): return .failedForNow(setback, isImmediate: true)
        case .retry(let retryAfter, let setback): return .failedForNow(setback, retryAfter: retryAfter)
        case .fail(let failure):
            guard let status = failure.status else { return .failed(.refused(failure)) }
            var refusal = AttemptRefusal(
                status: status,
                url: trail.current,
                use: credentials.use(for: trail),
                isAtOrigin: !trail.hasLeftOrigin
            )
            if case .unauthorized(let challenge, _) = failure { refusal.challenge = challenge }
            return .refused(refusal, .status(status), .refused(failure))
        }
    }

    /// Reads one response: decides on its head, writes its body, decides on its end.
    private func receive(
        _ parts: DownloadExchange.Parts,
        _ spoken: HTTPProtocol,
        _ ask: DownloadAsk,
        _ trail: RequestTrail
    ) async throws -> Exchanged {
        var iterator = parts.makeAsyncIterator()
        guard let response = try await finalHead(&iterator) else {
            try Task.checkCancellation()
            return .ended(.failedForNow(.connectionLost("it was closed before the answer")))
        }
        let target = trail.current
        let head = DownloadResponseHead(
            status: response.status.code,
            fields: response.headerFields,
            isEndMarked: spoken == .http2,
            isFromElsewhere: state.representation != nil && !target.isSameResource(as: finalURL),
            credentialUse: credentials.use(for: trail)
        )
        let decision = state.decide(on: head, to: ask, now: configuration.clock.secondsSince1970())
        switch decision {
        case .conclude(let conclusion): return .ended(outcome(of: conclusion, at: trail))
        case .follow(let location): return .redirected(location: location)
        case .repair(let offset):
            return .ended(outcome(of: try await repair(from: offset, &iterator, target), at: trail))
        case .append: return .ended(try await receive(&iterator, head, dropping: 0, trail))
        case .appendDropping(let count): return .ended(try await receive(&iterator, head, dropping: count, trail))
        case .begin, .truncateAndRestart:
            guard await isAccepted(response, target) else { return .ended(.failed(.cancelled)) }
            try await startOver(decision, target)
            return .ended(try await receive(&iterator, head, dropping: 0, trail))
        }
    }

    /// The head of the final response, after those of informational ones; `nil` where the connection ends before it.
    private func finalHead(_ iterator: inout DownloadExchange.Parts.AsyncIterator) async throws -> HTTPResponse? {
        while let part = try await iterator.next() {
            guard case .head(let head) = part else { return nil }
            guard head.status.isInterim else { return head }
            onEvent(.informed(status: head.status.code, fields: head.headerFields))
        }
        return nil
    }

    private func isAccepted(_ response: HTTPResponse, _ url: DownloadURL) async -> Bool {
        guard let accepts = surroundings.callbacks.accepts else { return true }
        return await accepts(
            ExchangeResponse(status: response.status.code, fields: response.headerFields, url: url.text)
        )
    }

    /// Writes a body that was accepted, and decides on its end.
    private func receive(
        _ iterator: inout DownloadExchange.Parts.AsyncIterator,
        _ head: DownloadResponseHead,
        dropping overlap: Int64,
        _ trail: RequestTrail
    ) async throws -> Outcome {
        if head.status == 206 {
            guard try await isPrefixSound() else { return .failedForNow(.heldBytesDamaged, isImmediate: true) }
            finalURL = trail.current
            isLastURLOpen = true
            summary.resumptions += 1
            onEvent(.resumed(offset: state.length))
            try await recordWhatIsKnown()
        }
        defer { reportProgress(isLast: true) }
        var check = try await OverlapCheck(overlap, of: file)
        while let part = try await iterator.next() {
            switch part {
            case .head: return .failedForNow(.malformedResponse("a second head"))
            case .body(let buffer):
                guard try await write(buffer, &check) else { return outcome(of: state.overlapDiffered(), at: trail) }
                // What lies beyond the body's end may never end itself.
                if state.isBodyTooLong { return outcome(of: try await bodyEnded(), at: trail) }
            case .end(let trailers):
                let conclusion = try await bodyEnded(trailers)
                try await noteSurplus(after: conclusion, &iterator, framing: head.framing)
                return outcome(of: conclusion, at: trail)
            }
        }
        state.bodyCut()
        try Task.checkCancellation()
        return .failedForNow(.connectionLost("it was closed in the middle of the answer"))
    }

    /// Writes a body in the place of damaged bytes, and compares them with the journal.
    private func repair(
        from offset: Int64,
        _ iterator: inout DownloadExchange.Parts.AsyncIterator,
        _ target: DownloadURL
    ) async throws -> DownloadConclusion {
        finalURL = target
        isLastURLOpen = true
        var offset = offset
        var hasEnded = false
        while !hasEnded, state.damage != nil, let part = try await iterator.next() {
            switch part {
            case .head: return .retry(after: nil, .malformedResponse("a second head"))
            case .body(let buffer):
                try await pacer?.admit(buffer.readableBytes)
                summary.bytesReceived += Int64(buffer.readableBytes)
                let portion = state.received(buffer.readableBytes)
                try await file.repair(Array(buffer.readableBytesView.prefix(portion.kept)), at: offset)
                offset += Int64(portion.kept)
            case .end: hasEnded = true
            }
        }
        let conclusion = state.bodyEnded()
        try Task.checkCancellation()
        guard state.damage == nil else { return conclusion }
        return try await verifyRepair() ? .askForMore : .askAgain(.heldBytesDamaged)
    }

    private func bodyEnded(_ trailers: HTTPFields? = nil) async throws(DownloadError) -> DownloadConclusion {
        let conclusion = state.bodyEnded(trailers: trailers)
        try await recordWhatIsKnown()
        return conclusion
    }

    /// Looks for bytes after a response that completes the file, which only a digest could vouch for otherwise: the length
    /// that its head named may be wrong then. Waits for the end of the connection for a moment.
    private func noteSurplus(
        after conclusion: DownloadConclusion,
        _ iterator: inout DownloadExchange.Parts.AsyncIterator,
        framing: DownloadFraming
    ) async throws(DownloadError) {
        guard case .complete = conclusion, case .length = framing, request.expectedSHA256 == nil,
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
    private func startOver(_ decision: DownloadHeadDecision, _ target: DownloadURL) async throws(DownloadError) {
        finalURL = target
        isLastURLOpen = true
        if case .truncateAndRestart(let reason) = decision {
            guard summary.restarts < configuration.maximumRestarts else {
                throw .tooManyRestarts(summary.restarts, reason)
            }
            summary.restarts += 1
            loop.restarted()
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

    /// Writes the new bytes of a part of the body, piece by piece where a rate limits them; `false` when those that only
    /// repeat differ from the ones held.
    private func write(_ buffer: ByteBuffer, _ check: inout OverlapCheck) async throws(DownloadError) -> Bool {
        guard let pacer else { return try await writePiece(buffer, &check) }
        var rest = buffer
        while let piece = rest.readSlice(length: min(pacer.pieceLength, rest.readableBytes)), piece.readableBytes > 0 {
            try await pacer.admit(piece.readableBytes)
            guard try await writePiece(piece, &check) else { return false }
        }
        return true
    }

    private func writePiece(_ buffer: ByteBuffer, _ check: inout OverlapCheck) async throws(DownloadError) -> Bool {
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

extension HTTPResponse.Status {
    /// Whether a final response follows (RFC 9110, section 15.2).
    var isInterim: Bool { kind == .informational && code != 101 }
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

extension DownloadError {
    /// The setback in place of a failure that the way from the URL that was asked for may not have; `nil` for other failures.
    fileprivate var setbackOfLastURL: DownloadSetback? {
        switch self {
        case .tlsRefused(_, let failure): .connectFailed(failure.description)
        case .tooManyRedirections(let count): .malformedResponse("more than \(count) redirections")
        case .invalidRedirection: .malformedResponse("a redirection to a URL that can't be used")
        case .refused(.redirectWithoutLocation(let status)): .status(status)
        case .refused(.contentEncoding(let coding)):
            .malformedResponse("the content coding \(coding.quoted) wasn't asked for")
        default: nil
        }
    }
}
