import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol
import Units

extension DownloadSession {
    /// The maximum number of consecutive redirects.
    static let maximumRedirects = 10

    typealias Outcome = AttemptOutcome<TransientDownloadFailure, DownloadError>

    /// The outcome of one HTTP attempt.
    private enum RequestEnd: Sendable {
        case redirected(location: String)
        case ended(Outcome)
    }

    /// Sends one request, follows its redirects, and writes the response.
    ///
    /// The rest is requested from the URL that last served bytes, since another mirror may have another state of the
    /// file. If that makes no progress, the redirects are followed again from the original URL: the last one may have
    /// expired.
    func send(_ plan: RequestPlan) async -> Outcome {
        guard plan.condition != nil, triesLastURL, finalURL != url else {
            return await send(plan, along: start)
        }
        let received = state.length
        let outcome = await send(plan, along: final)
        if state.length == received { triesLastURL = false }
        switch outcome {
        case .refused(let refusal, _, _): return .retryable(.status(refusal.status), isImmediate: true)
        case .failed(let failure):
            return failure.transientFailureOfLastURL.map { .retryable($0, isImmediate: true) } ?? outcome
        case .proceed, .retryable: return outcome
        }
    }

    /// Sends one request along the redirects after `start`.
    private func send(_ plan: RequestPlan, along start: RedirectChain) async -> Outcome {
        var redirects = start
        for _ in 0...Self.maximumRedirects {
            let location: String
            switch await httpAttempt(plan, at: redirects) {
            case .ended(let outcome): return outcome
            case .redirected(let target): location = target
            }
            do throws(DownloadURLProblem) {
                redirects.follow(try redirects.current.resolving(location))
            } catch {
                return .failed(.invalidRedirection(location, error))
            }
            let target = redirects.current.text
            onEvent(.redirected(url: target))
        }
        return .failed(.tooManyRedirections(Self.maximumRedirects))
    }

    private func httpAttempt(_ plan: RequestPlan, at redirects: RedirectChain) async -> RequestEnd {
        summary.connections += 1
        host = configuration.nextHop(to: redirects.current)
        let httpAttempt = environment.httpAttempt(loop.remaining)
        do {
            let fields = credentials.fields(for: redirects)
            return try await httpAttempt.perform(plan, at: redirects.current, with: fields) { parts, negotiated in
                try await self.receive(parts, negotiated, plan, redirects)
            }
        } catch let error as DownloadError {
            return .ended(.failed(error))
        } catch let problem as TLSSettingsProblem {
            return .ended(.failed(.invalidTLSSettings(problem)))
        } catch {
            state.bodyInterrupted()
            if let failure = HTTPAttempt.refusal(of: error) {
                return .ended(.failed(.tlsRefused(host: redirects.current.host, failure)))
            }
            if let challenge = HTTPAttempt.proxyChallenge(of: error) {
                return .ended(.failed(.refused(.unauthorized(challenge, .none))))
            }
            guard !Task.isCancelled, let cause = HTTPAttempt.cause(of: error) else {
                return .ended(.failed(.cancelled))
            }
            if cause == HTTPAttempt.ambiguousLength {
                // Once, it may have been damaged on the way.
                guard !hadAmbiguousLength else { return .ended(.failed(.refused(.ambiguousLength))) }
                hadAmbiguousLength = true
            }
            return .ended(.retryable(cause, isImmediate: state.isEndRepeated))
        }
    }

    /// The outcome of a decision.
    private func outcome(of conclusion: DownloadConclusion, at redirects: RedirectChain) -> Outcome {
        switch conclusion {
        case .complete: return .proceed
        case .requestMore: return .retryable(.partialOnly, isImmediate: state.isEndRepeated)
        case .retryNow(let cause): return .retryable(cause, isImmediate: true)
        case .retry(let retryAfter, let cause): return .retryable(cause, retryAfter: retryAfter)
        case .fail(let failure):
            guard let status = failure.status else { return .failed(.refused(failure)) }
            var refusal = AttemptRefusal(
                status: status,
                url: redirects.current,
                use: credentials.use(for: redirects),
                isAtOrigin: !redirects.hasLeftOrigin
            )
            if case .unauthorized(let challenge, _) = failure { refusal.challenge = challenge }
            return .refused(refusal, .status(status), .refused(failure))
        }
    }

    /// Reads one response: decides on its head, writes its body, and decides at its end.
    private func receive(
        _ parts: HTTPAttempt.Parts,
        _ negotiated: HTTPProtocol,
        _ plan: RequestPlan,
        _ redirects: RedirectChain
    ) async throws -> RequestEnd {
        var iterator = parts.makeAsyncIterator()
        guard let response = try await finalHead(&iterator) else {
            try Task.checkCancellation()
            return .ended(.retryable(.connectionLost("it was closed before the answer")))
        }
        let target = redirects.current
        let head = DownloadResponseHead(
            status: response.status.code,
            fields: response.headerFields,
            isSelfDelimited: negotiated == .http2,
            isFromOtherResource: state.representation != nil && !target.isSameResource(as: finalURL),
            credentialUse: credentials.use(for: redirects)
        )
        let decision = state.decide(on: head, to: plan, now: configuration.clock.secondsSince1970())
        switch decision {
        case .conclude(let conclusion): return .ended(outcome(of: conclusion, at: redirects))
        case .follow(let location): return .redirected(location: location)
        case .repair(let offset):
            return .ended(outcome(of: try await repair(from: offset, &iterator, redirects), at: redirects))
        case .append: return .ended(try await receive(&iterator, head, dropping: 0, redirects))
        case .appendDropping(let count):
            return .ended(try await receive(&iterator, head, dropping: count, redirects))
        case .begin, .truncateAndRestart:
            guard await isAccepted(response, target) else { return .ended(.failed(.cancelled)) }
            try await startOver(decision, redirects)
            return .ended(try await receive(&iterator, head, dropping: 0, redirects))
        }
    }

    /// The final response head after interim ones; `nil` if the connection ends before it.
    private func finalHead(_ iterator: inout HTTPAttempt.Parts.AsyncIterator) async throws -> HTTPResponse? {
        while let part = try await iterator.next() {
            guard case .head(let head) = part else { return nil }
            guard head.status.isInterim else { return head }
            onEvent(.interimResponse(status: head.status.code, fields: head.headerFields))
        }
        return nil
    }

    private func isAccepted(_ response: HTTPResponse, _ url: DownloadURL) async -> Bool {
        guard let accepts = environment.callbacks.accepts else { return true }
        return await accepts(
            ResponseHead(status: response.status.code, fields: response.headerFields, url: url.text)
        )
    }

    /// Writes an accepted body and decides at its end.
    private func receive(
        _ iterator: inout HTTPAttempt.Parts.AsyncIterator,
        _ head: DownloadResponseHead,
        dropping overlap: Int64,
        _ redirects: RedirectChain
    ) async throws -> Outcome {
        if state.length > 0 {
            guard try await isPrefixIntact() else { return .retryable(.receivedBytesDamaged, isImmediate: true) }
            final = redirects
            triesLastURL = true
            summary.resumptions += 1
            onEvent(.resumed(offset: state.length))
            try await journalMetadata()
        }
        defer { reportProgress(isLast: true) }
        let refusesRanges = head.status == 200 && head.fields[.acceptRanges]?.lowercased() == "none"
        environment.callbacks.onResumability?(state.reasonToStartOver ?? (refusesRanges ? .rangeIgnored : nil))
        var check = try await OverlapCheck(overlap, of: file)
        while let part = try await iterator.next() {
            switch part {
            case .head: return .retryable(.malformedResponse("a second head"))
            case .body(let buffer):
                guard try await write(buffer, &check) else {
                    return outcome(of: state.overlapMismatched(), at: redirects)
                }
                // Excess bytes may never end by themselves.
                if state.isBodyTooLong { return outcome(of: try await bodyEnded(), at: redirects) }
            case .end(let trailers):
                let conclusion = try await bodyEnded(trailers)
                try await detectExcessBytes(after: conclusion, &iterator, framing: head.framing)
                return outcome(of: conclusion, at: redirects)
            }
        }
        state.bodyInterrupted()
        try Task.checkCancellation()
        return .retryable(
            .connectionLost("it was closed in the middle of the answer"),
            isImmediate: state.isEndRepeated
        )
    }

    /// Writes a body over damaged bytes and verifies them against the journal.
    private func repair(
        from offset: Int64,
        _ iterator: inout HTTPAttempt.Parts.AsyncIterator,
        _ redirects: RedirectChain
    ) async throws -> DownloadConclusion {
        final = redirects
        triesLastURL = true
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
        return try await verifyRepair() ? .requestMore : .retryNow(.receivedBytesDamaged)
    }

    private func bodyEnded(_ trailers: HTTPFields? = nil) async throws(DownloadError) -> DownloadConclusion {
        let conclusion = state.bodyEnded(trailers: trailers)
        try await journalMetadata()
        return conclusion
    }

    /// Looks for excess bytes after a complete response without a digest: the announced length may then be wrong. Waits
    /// briefly for the end of the connection.
    private func detectExcessBytes(
        after conclusion: DownloadConclusion,
        _ iterator: inout HTTPAttempt.Parts.AsyncIterator,
        framing: DownloadFraming
    ) async throws(DownloadError) {
        guard case .complete = conclusion, case .length = framing, request.expectedSHA256 == nil,
            state.representation?.digest == nil
        else { return }
        do {
            guard try await iterator.next() != nil else { return }
        } catch {
            guard HTTPAttempt.isExcess(error) else { return }
        }
        state.excessBytesFollowed()
        try await journalMetadata()
    }

    /// Empties the file for a full representation, before its first byte is written.
    private func startOver(_ decision: DownloadHeadDecision, _ redirects: RedirectChain) async throws(DownloadError) {
        final = redirects
        triesLastURL = true
        if case .truncateAndRestart(let reason) = decision {
            guard summary.restarts < configuration.maximumRestarts else {
                throw .tooManyRestarts(summary.restarts, reason)
            }
            summary.restarts += 1
            loop.restarted()
            onEvent(.restarted(reason))
        }
        try await awaitCheckpoint()
        await stopVerification()
        let source = JournalSource(
            url: url.text,
            finalURL: finalURL.text,
            representation: state.representation ?? DownloadRepresentation()
        )
        try await file.startOver(source)
        recorded = source
        lastCheckpoint = configuration.clock.now()
    }

    /// Writes the new bytes of a body part, in chunks when rate-limited; `false` when the overlap differs from the
    /// received bytes.
    private func write(_ buffer: ByteBuffer, _ check: inout OverlapCheck) async throws(DownloadError) -> Bool {
        guard let pacer else { return try await writePiece(buffer, &check) }
        var rest = buffer
        while let piece = rest.readSlice(length: min(pacer.chunkLength, rest.readableBytes)), piece.readableBytes > 0 {
            try await pacer.admit(piece.readableBytes)
            guard try await writePiece(piece, &check) else { return false }
        }
        return true
    }

    private func writePiece(_ buffer: ByteBuffer, _ check: inout OverlapCheck) async throws(DownloadError) -> Bool {
        summary.bytesReceived += Int64(buffer.readableBytes)
        let portion = state.received(buffer.readableBytes)
        guard check.matches(buffer.readableBytesView.prefix(portion.dropped)) else { return false }
        summary.bytesCompared += Int64(portion.dropped)
        guard portion.kept > 0 else { return true }
        try await file.append(Array(buffer.readableBytesView.dropFirst(portion.dropped).prefix(portion.kept)))
        try await checkpointIfDue()
        reportProgress()
        return true
    }
}

extension HTTPResponse.Status {
    /// Whether another response follows (RFC 9110, section 15.2).
    var isInterim: Bool { kind == .informational && code != 101 }
}

extension DownloadFailure {
    /// The response status of a failure; `nil` for other failures.
    fileprivate var status: Int? {
        switch self {
        case .status(let status), .otherProtocol(let status, _): status
        case .unauthorized(let challenge, _): challenge.isFromProxy ? 407 : 401
        case .contentEncoding, .redirectWithoutLocation, .ambiguousLength: nil
        }
    }
}

extension DownloadError {
    /// The transient failure to report when the redirects from the original URL may avoid this one; `nil` for other
    /// failures.
    fileprivate var transientFailureOfLastURL: TransientDownloadFailure? {
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
