import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol
import Units

extension DownloadSession {
    /// The maximum number of consecutive redirects.
    static let maximumRedirects = 10

    /// The outcome of one HTTP attempt.
    private enum RequestEnd: Sendable {
        case redirected(location: String)
        case ended(AttemptOutcome)
    }

    /// Sends one request, follows its redirects, and writes the response.
    ///
    /// The rest is requested from the URL that last served bytes, since another mirror may have another state of the
    /// file. If that makes no progress, the redirects are followed again from the original URL: the last one may have
    /// expired.
    func send(_ plan: RequestPlan) async -> AttemptOutcome {
        guard plan.condition != nil, triesLastURL, finalURL != url else {
            return await send(plan, along: start)
        }
        let received = state.length
        let outcome = await send(plan, along: final)
        if state.length == received { triesLastURL = false }
        switch outcome {
        case .refused(let response, _): return .retryable(.status(response.status), isImmediate: true)
        case .failed(let failure):
            return failure.transientFailureOfLastURL.map { .retryable($0, isImmediate: true) } ?? outcome
        case .proceed, .retryable: return outcome
        }
    }

    /// Sends one request along the redirects after `start`.
    private func send(_ plan: RequestPlan, along start: RedirectChain) async -> AttemptOutcome {
        var redirects = start
        for _ in 0...Self.maximumRedirects {
            let location: String
            switch await send(plan, at: redirects) {
            case .ended(let outcome): return outcome
            case .redirected(let target): location = target
            }
            do throws(TransferURLProblem) {
                redirects.follow(try redirects.current.resolving(location))
            } catch {
                return .failed(.invalidRedirection(location, error))
            }
            let target = redirects.current.text
            loop.onEvent(.redirected(url: target))
        }
        return .failed(.tooManyRedirections(Self.maximumRedirects))
    }

    private func send(_ plan: RequestPlan, at redirects: RedirectChain) async -> RequestEnd {
        loop.counters.connections += 1
        let url = redirects.current
        host = configuration.nextHop(to: url)
        let request = url.request(plan.method, plan.fields.replacing(credentials.fields(for: redirects)))
        do {
            return try await connections.send(request, to: url, nil, within: loop.remaining) { parts, negotiated in
                try await self.receive(parts, negotiated, plan, redirects)
            }
        } catch {
            if !(error is TransferError) { state.bodyInterrupted() }
            switch AttemptFailure(error, at: url) {
            case .final(let error): return .ended(.failed(error))
            case .transient(let cause):
                if cause == AttemptFailure.ambiguousLength {
                    // Once, it may have been damaged on the way.
                    guard !hadAmbiguousLength else { return .ended(.failed(.refused(.ambiguousLength))) }
                    hadAmbiguousLength = true
                }
                return .ended(.retryable(cause, isImmediate: state.isEndRepeated))
            }
        }
    }

    /// The outcome of a decision.
    private func outcome(of conclusion: DownloadConclusion, at redirects: RedirectChain) -> AttemptOutcome {
        switch conclusion {
        case .complete: return .proceed
        case .requestMore: return .retryable(.partialOnly, isImmediate: state.isEndRepeated)
        case .retryNow(let cause): return .retryable(cause, isImmediate: true)
        case .retry(let retryAfter, let cause): return .retryable(cause, retryAfter: retryAfter)
        case .fail(let refusal):
            guard let status = refusal.status else { return .failed(.refused(refusal)) }
            var response = AttemptRefusal(
                status: status,
                url: redirects.current,
                use: credentials.use(for: redirects),
                isAtOrigin: !redirects.hasLeftOrigin
            )
            if case .unauthorized(let challenge, _) = refusal { response.challenge = challenge }
            return .refused(response, refusal)
        }
    }

    /// Reads one response: decides on its head, writes its body, and decides at its end.
    private func receive(
        _ parts: ResponseParts,
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
    private func finalHead(_ iterator: inout ResponseParts.AsyncIterator) async throws -> HTTPResponse? {
        while let part = try await iterator.next() {
            guard case .head(let head) = part else { return nil }
            guard head.status.isInterim else { return head }
            loop.onEvent(.interimResponse(status: head.status.code, fields: head.headerFields))
        }
        return nil
    }

    private func isAccepted(_ response: HTTPResponse, _ url: TransferURL) async -> Bool {
        guard let accepts = callbacks.accepts else { return true }
        return await accepts(
            ResponseHead(status: response.status.code, fields: response.headerFields, url: url.text)
        )
    }

    /// Writes an accepted body and decides at its end.
    private func receive(
        _ iterator: inout ResponseParts.AsyncIterator,
        _ head: DownloadResponseHead,
        dropping overlap: Int64,
        _ redirects: RedirectChain
    ) async throws -> AttemptOutcome {
        fields = head.fields
        if state.length > 0 {
            guard try await isPrefixIntact() else { return .retryable(.receivedBytesDamaged, isImmediate: true) }
            final = redirects
            triesLastURL = true
            loop.resumed(at: state.length)
            try await journalMetadata()
        }
        defer { reportProgress(isLast: true) }
        let refusesRanges = head.status == 200 && head.fields[.acceptRanges]?.lowercased() == "none"
        callbacks.onResumability?(state.reasonToStartOver ?? (refusesRanges ? .rangeIgnored : nil))
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
        _ iterator: inout ResponseParts.AsyncIterator,
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
                try await loop.pacer?.admit(buffer.readableBytes)
                loop.counters.bytesTransferred += Int64(buffer.readableBytes)
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

    private func bodyEnded(_ trailers: HTTPFields? = nil) async throws(TransferError) -> DownloadConclusion {
        let conclusion = state.bodyEnded(trailers: trailers)
        try await journalMetadata()
        return conclusion
    }

    /// Looks for excess bytes after a complete response without a digest: the announced length may then be wrong. Waits
    /// briefly for the end of the connection.
    private func detectExcessBytes(
        after conclusion: DownloadConclusion,
        _ iterator: inout ResponseParts.AsyncIterator,
        framing: DownloadFraming
    ) async throws(TransferError) {
        guard case .complete = conclusion, case .length = framing, request.expectedSHA256 == nil,
            state.representation?.digest == nil
        else { return }
        do {
            guard try await iterator.next() != nil else { return }
        } catch {
            guard AttemptFailure.isExcess(error) else { return }
        }
        state.excessBytesFollowed()
        try await journalMetadata()
    }

    /// Empties the file for a full representation, before its first byte is written.
    private func startOver(_ decision: DownloadHeadDecision, _ redirects: RedirectChain) async throws(TransferError) {
        final = redirects
        triesLastURL = true
        if case .truncateAndRestart(let reason) = decision {
            guard loop.counters.restarts < configuration.maximumRestarts else {
                throw .tooManyRestarts(loop.counters.restarts, reason)
            }
            loop.restarted(reason)
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
    private func write(_ buffer: ByteBuffer, _ check: inout OverlapCheck) async throws(TransferError) -> Bool {
        guard let pacer = loop.pacer else { return try await writePiece(buffer, &check) }
        var rest = buffer
        while let piece = rest.readSlice(length: min(pacer.chunkLength, rest.readableBytes)), piece.readableBytes > 0 {
            try await pacer.admit(piece.readableBytes)
            guard try await writePiece(piece, &check) else { return false }
        }
        return true
    }

    private func writePiece(_ buffer: ByteBuffer, _ check: inout OverlapCheck) async throws(TransferError) -> Bool {
        loop.counters.bytesTransferred += Int64(buffer.readableBytes)
        let portion = state.received(buffer.readableBytes)
        guard check.matches(buffer.readableBytesView.prefix(portion.dropped)) else { return false }
        bytesCompared += Int64(portion.dropped)
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

extension TransferError {
    /// The transient failure to report when the redirects from the original URL may avoid this one; `nil` for other
    /// failures.
    fileprivate var transientFailureOfLastURL: TransientFailure? {
        switch self {
        case .tlsRefused(_, let failure): .connectFailed(failure.description)
        case .tooManyRedirections(let count): .malformedResponse("more than \(count) redirections")
        case .invalidRedirection: .malformedResponse("a redirection to a URL that can't be used")
        case .refused(.contentEncoding(let coding)):
            .malformedResponse("the content coding \(coding.quoted) wasn't asked for")
        default: nil
        }
    }
}
