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
        counters.connections += 1
        let (request, url) = state.request(for: plan, creation: request.method, metadata)
        host = configuration.nextHop(to: url)
        let writer = writer(for: plan)
        if case .append(_, let from, let count, _) = plan {
            if counters.acknowledgedAtStart == nil { counters.acknowledgedAtStart = from }
            if count > 0 || from < source.identity.length {
                counters.resumptions += 1
                onEvent(.resumed(offset: from))
            }
        } else if case .create = plan, counters.acknowledgedAtStart == nil {
            counters.acknowledgedAtStart = 0
        }
        let clock = configuration.clock
        let hold = Task { [limit = configuration.interimResponseLimit] in
            try? await clock.sleep(limit)
            writer?.release()
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
            outcome = try await httpAttempt.perform(
                request,
                at: url,
                writer,
                beforeCompletion: { () async throws(UploadError) in try await journal.completionBegan() },
                onProgress: { progress.sent($0) },
                receive: { parts in try await self.receive(parts, plan, writer, progress) }
            )
        } catch {
            outcome = attemptFailed(error, plan, writer, host: url.host)
        }
        counters.bytesSent += writer?.sent ?? 0
        return outcome
    }

    private func writer(for plan: UploadRequestPlan) -> UploadBodyWriter? {
        guard let range = plan.content(of: source.identity.length) else { return nil }
        // A creation's content waits for the server to name the resource or refuse.
        var awaitsInterimResponse = false
        if case .create(.some) = plan { awaitsInterimResponse = true }
        return UploadBodyWriter(
            source,
            range,
            completes: plan.completes,
            awaitsInterimResponse: awaitsInterimResponse,
            pacer
        )
    }

    private func attemptFailed(
        _ error: any Error,
        _ plan: UploadRequestPlan,
        _ writer: UploadBodyWriter?,
        host: String
    ) -> Outcome {
        if let failure = writer?.failure ?? error as? UploadError { return .failed(failure) }
        if let failure = error as? DownloadError { return .failed(UploadError(failure)) }
        if let problem = error as? TLSSettingsProblem { return .failed(.invalidTLSSettings(problem)) }
        if let failure = HTTPAttempt.refusal(of: error) { return .failed(.tlsRefused(host: host, failure)) }
        if let challenge = HTTPAttempt.proxyChallenge(of: error) {
            return .failed(.refused(.accessRefused(challenge, .none)))
        }
        guard !Task.isCancelled, let cause = HTTPAttempt.cause(of: error) else { return .failed(.cancelled) }
        return lost(plan, writer, cause)
    }

    private func lost(_ plan: UploadRequestPlan, _ writer: UploadBodyWriter?, _ cause: TransientDownloadFailure)
        -> Outcome
    {
        if let failure = writer?.failure { return .failed(failure) }
        if writer?.hasBegunCompletion == true { state.completionBegan() }
        return outcome(of: state.attemptFailed(plan, sent: writer?.sent ?? 0, cause))
    }

    /// Reads the responses: applies interim ones and decides on the final one.
    private func receive(
        _ parts: HTTPAttempt.Parts,
        _ plan: UploadRequestPlan,
        _ writer: UploadBodyWriter?,
        _ progress: UploadProgress
    ) async throws -> Outcome {
        var iterator = parts.makeAsyncIterator()
        while let part = try await iterator.next() {
            guard case .head(let head) = part else { continue }
            let now = configuration.clock.secondsSince1970()
            guard head.status.isInterim else {
                let problem = await problem(of: head, &iterator)
                if writer?.hasBegunCompletion == true { state.completionBegan() }
                let redirects = state.redirects(of: plan)
                let response = UploadResponseHead(
                    status: head.status.code,
                    fields: head.headerFields,
                    problem: problem,
                    credentialUse: metadata.credentials.use(for: redirects)
                )
                stateBeforeResponse = state
                let action = state.decide(on: response, to: plan, sent: writer?.sent ?? 0, now: now)
                if let resource = state.resourceToPersist() {
                    try await persist(resource, isNew: resource.url != stateBeforeResponse.resource?.url)
                }
                return refusal(response, to: plan, redirects) ?? outcome(of: action)
            }
            writer?.pause()
            let notice = state.receivedInterimResponse(
                status: head.status.code,
                fields: head.headerFields,
                of: plan,
                now: now
            )
            switch notice {
            case .ignored: onEvent(.interimResponse(status: head.status.code, fields: head.headerFields))
            case .created(let resource): try await persist(resource, isNew: true)
            case .acknowledged(let offset):
                loop.reached(offset)
                progress.acknowledged(offset)
            case .violation: return .proceed
            }
            writer?.resume()
            writer?.release()
        }
        try Task.checkCancellation()
        return lost(plan, writer, .connectionLost("it was closed before the answer"))
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
        case .refused, .otherProtocol: break
        case .sizeRefused, .appendLimitTooSmall, .dialectRefused, .respondedEarly, .notRepeatable, .outcomeUnknown,
            .tooManyRestarts, .redirection, .violation:
            return nil
        }
        return .refused(refusal, .status(head.status), .refused(failure))
    }

    /// Journals the upload resource before more is sent.
    private func persist(_ resource: UploadResource, isNew: Bool) async throws(UploadError) {
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
        while bytes.count <= ProblemDetails.maximumSize, case .body(let buffer)? = try? await iterator.next() {
            bytes += buffer.readableBytesView.prefix(ProblemDetails.maximumSize + 1)
        }
        return ProblemDetails(json: bytes)
    }
}
