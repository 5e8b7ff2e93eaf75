import HTTPSemantics
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol

extension UploadSession {
    typealias Outcome = AttemptOutcome<TransientUploadFailure, UploadError>

    /// Sends one request, its content concurrent with the responses, and decides on them.
    func attempt(_ plan: UploadRequestPlan) async -> Outcome {
        tally.connections += 1
        let (request, url) = state.request(for: plan, creation: request.method, metadata)
        host = configuration.nextHop(to: url)
        let sending = sending(for: plan)
        if case .append(_, let from, let count, _) = plan {
            if tally.acknowledgedAtStart == nil { tally.acknowledgedAtStart = from }
            if count > 0 || from < source.identity.length {
                tally.resumptions += 1
                onEvent(.resumed(offset: from))
            }
        } else if case .create = plan, tally.acknowledgedAtStart == nil {
            tally.acknowledgedAtStart = 0
        }
        let clock = configuration.clock
        let hold = Task { [limit = configuration.interimResponseLimit] in
            try? await clock.sleep(limit)
            sending?.release()
        }
        defer { hold.cancel() }
        let journal = journal
        let progress = UploadProgress(
            sent: plan.content(of: source.identity.length)?.lowerBound ?? 0,
            acknowledged: state.acknowledged,
            total: source.identity.length,
            configuration,
            onEvent
        )
        let outcome: Outcome
        do {
            outcome = try await exchange.perform(
                request,
                at: url,
                sending,
                beforeCompletion: { () async throws(UploadError) in try await journal.completionBegan() },
                onProgress: { progress.sent($0) },
                receive: { parts in try await self.receive(parts, plan, sending, progress) }
            )
        } catch {
            outcome = attemptFailed(error, plan, sending, host: url.host)
        }
        tally.bytesSent += sending?.sent ?? 0
        return outcome
    }

    private func sending(for plan: UploadRequestPlan) -> UploadBodyWriter? {
        guard let range = plan.content(of: source.identity.length) else { return nil }
        // A creation's content waits for the server to name the resource or refuse.
        var isHeld = false
        if case .create(.some) = plan { isHeld = true }
        return UploadBodyWriter(source, range, completes: plan.completes, isHeld: isHeld, pacer)
    }

    private func attemptFailed(
        _ error: any Error,
        _ plan: UploadRequestPlan,
        _ sending: UploadBodyWriter?,
        host: String
    ) -> Outcome {
        if let failure = sending?.failure ?? error as? UploadError { return .failed(failure) }
        if let problem = error as? TLSSettingsProblem { return .failed(.invalidTLSSettings(problem)) }
        if let failure = HTTPAttempt.refusal(of: error) { return .failed(.tlsRefused(host: host, failure)) }
        if let challenge = HTTPAttempt.proxyChallenge(of: error) {
            return .failed(.refused(.accessRefused(challenge, .none)))
        }
        guard !Task.isCancelled, let cause = HTTPAttempt.cause(of: error) else { return .failed(.cancelled) }
        return lost(plan, sending, cause)
    }

    private func lost(_ plan: UploadRequestPlan, _ sending: UploadBodyWriter?, _ cause: TransientDownloadFailure)
        -> Outcome
    {
        if let failure = sending?.failure { return .failed(failure) }
        if sending?.hasBegunCompletion == true { state.completionBegan() }
        return outcome(of: state.attemptFailed(plan, sent: sending?.sent ?? 0, cause))
    }

    /// Reads the responses: applies interim ones and decides on the final one.
    private func receive(
        _ parts: HTTPAttempt.Parts,
        _ plan: UploadRequestPlan,
        _ sending: UploadBodyWriter?,
        _ progress: UploadProgress
    ) async throws -> Outcome {
        var iterator = parts.makeAsyncIterator()
        while let part = try await iterator.next() {
            guard case .head(let head) = part else { continue }
            let now = configuration.clock.secondsSince1970()
            guard head.status.isInterim else {
                let problem = await problem(of: head, &iterator)
                if sending?.hasBegunCompletion == true { state.completionBegan() }
                let redirects = state.redirects(of: plan)
                let response = UploadResponseHead(
                    status: head.status.code,
                    fields: head.headerFields,
                    problem: problem,
                    credentialUse: metadata.credentials.use(for: redirects)
                )
                stateBeforeResponse = state
                let action = state.decide(on: response, to: plan, sent: sending?.sent ?? 0, now: now)
                if let resource = state.resourceToPersist() {
                    try await keep(resource, isNew: resource.url != stateBeforeResponse.resource?.url)
                }
                return refusal(response, to: plan, redirects) ?? outcome(of: action)
            }
            sending?.pause()
            let notice = state.informed(status: head.status.code, fields: head.headerFields, of: plan, now: now)
            switch notice {
            case .ignored: onEvent(.informed(status: head.status.code, fields: head.headerFields))
            case .created(let resource): try await keep(resource, isNew: true)
            case .acknowledged(let offset):
                loop.reached(offset)
                progress.acknowledged(offset)
            case .violation: return .proceed
            }
            sending?.resume()
            sending?.release()
        }
        try Task.checkCancellation()
        return lost(plan, sending, .connectionLost("it was closed before the answer"))
    }

    /// The outcome of a decision.
    private func outcome(of action: UploadAction) -> Outcome {
        switch action {
        case .proceed: .proceed
        case .retryNow(let cause): .retryable(cause, isImmediate: true)
        case .retry(let retryAfter, let cause): .retryable(cause, retryAfter: retryAfter)
        }
    }

    /// A refusal that the caller may resolve: it ended the upload before the target processed anything. `nil` for any
    /// other response.
    private func refusal(_ head: UploadResponseHead, to plan: UploadRequestPlan, _ redirects: RedirectChain) -> Outcome?
    {
        guard case .failed(let failure) = state.phase else { return nil }
        var refusal = AttemptRefusal(
            status: head.status,
            url: redirects.current,
            use: head.credentialUse,
            isAtOrigin: !redirects.hasLeftOrigin,
            // The upload resource's URL is the server's choice.
            canMove: stateBeforeResponse.resource == nil
        )
        switch failure {
        case .accessRefused(let challenge, _): refusal.challenge = challenge
        case .refused: break
        case .sizeRefused, .appendLimitTooSmall, .dialectRefused, .respondedEarly, .notRepeatable, .outcomeUnknown,
            .tooManyRestarts, .redirection, .violation:
            return nil
        }
        return .refused(refusal, .status(head.status), .refused(failure))
    }

    /// Journals the upload resource before more is sent.
    private func keep(_ resource: UploadResource, isNew: Bool) async throws(UploadError) {
        try await journal.begin(
            UploadJournal.Creation(
                target: state.parameters.target.text,
                resource: resource,
                source: source.identity,
                sha256: sha256
            ),
            mayBeComplete: state.mayBeComplete
        )
        if isNew { onEvent(.resumable(dialect: resource.dialect.rawValue)) }
    }

    /// The problem details of a refusal, if any.
    private func problem(
        of head: HTTPResponse,
        _ iterator: inout HTTPAttempt.Parts.AsyncIterator
    ) async -> ProblemDetails? {
        guard (400..<500).contains(head.status.code),
            head.headerFields[.contentType]?.lowercased().hasPrefix(ProblemDetails.mediaType) == true
        else { return nil }
        var bytes: [UInt8] = []
        // Truncated problem details count as none.
        while bytes.count <= ProblemDetails.longest, case .body(let buffer)? = try? await iterator.next() {
            bytes += buffer.readableBytesView.prefix(ProblemDetails.longest + 1)
        }
        return ProblemDetails(json: bytes)
    }
}
