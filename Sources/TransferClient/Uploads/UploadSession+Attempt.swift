import HTTPSemantics
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol

extension UploadSession {
    /// Sends one request, its content concurrent with the responses, and decides on them.
    func attempt(_ plan: UploadRequestPlan) async -> AttemptOutcome {
        loop.counters.connections += 1
        let (request, url) = state.request(for: plan, creation: request.method, metadata)
        host = configuration.nextHop(to: url)
        if case .append(_, let from, let count, _) = plan {
            if !hasStartOffset { (loop.counters.bytesRecovered, hasStartOffset) = (from, true) }
            if count > 0 || from < source.identity.length { loop.resumed(at: from) }
        } else if case .create = plan {
            hasStartOffset = true
        }
        let progress = UploadProgress(
            sent: plan.content(of: source.identity.length)?.lowerBound ?? 0,
            acknowledged: state.acknowledged,
            total: source.identity.length,
            configuration,
            loop.onEvent
        )
        let writer = writer(for: plan, progress)
        let hold = Task(executorPreference: executor) { [configuration] in
            try? await configuration.clock.timeout(configuration.interimResponseLimit)
            writer?.release()
        }
        defer { hold.cancel() }
        var outcome: AttemptOutcome
        do {
            outcome = try await connections.send(request, to: url, writer, within: loop.remaining) { parts, _ in
                try await self.receive(parts, plan, writer, progress)
            }
        } catch {
            switch AttemptFailure(writer?.failure ?? error, at: url) {
            case .final(let error): outcome = .failed(error)
            case .transient(let cause): outcome = lost(plan, writer, cause)
            }
        }
        loop.counters.bytesTransferred += writer?.sent ?? 0
        return outcome
    }

    private func writer(for plan: UploadRequestPlan, _ progress: UploadProgress) -> UploadBodyWriter? {
        guard let range = plan.content(of: source.identity.length) else { return nil }
        // A creation's content waits for the server to name the resource or refuse.
        var awaitsInterimResponse = false
        if case .create(.some) = plan { awaitsInterimResponse = true }
        return UploadBodyWriter(
            source,
            range,
            completes: plan.completes,
            awaitsInterimResponse: awaitsInterimResponse,
            loop.pacer,
            beforeCompletion: { [journal] () async throws(TransferError) in try await journal.completionBegan() },
            onProgress: { progress.sent($0) }
        )
    }

    private func lost(
        _ plan: UploadRequestPlan,
        _ writer: UploadBodyWriter?,
        _ cause: TransientFailure
    ) -> AttemptOutcome {
        if let failure = writer?.failure { return .failed(failure) }
        if writer?.hasBegunCompletion == true { state.completionBegan() }
        return outcome(of: state.attemptFailed(plan, sent: writer?.sent ?? 0, cause))
    }

    /// Reads the responses: applies interim ones and decides on the final one.
    private func receive(
        _ parts: ResponseParts,
        _ plan: UploadRequestPlan,
        _ writer: UploadBodyWriter?,
        _ progress: UploadProgress
    ) async throws -> AttemptOutcome {
        var iterator = parts.makeAsyncIterator()
        while let part = try await iterator.next() {
            guard case .head(let head) = part else { continue }
            let now = configuration.clock.secondsSince1970()
            guard head.status.isInterim else {
                writer?.pause()
                let body = await body(of: head, isAllSent: writer?.hasSentAll == true, &iterator)
                if writer?.hasBegunCompletion == true { state.completionBegan() }
                let redirects = state.redirects(of: plan)
                let response = UploadResponseHead(
                    status: head.status.code,
                    fields: head.headerFields,
                    problem: head.status.kind == .clientError ? ProblemDetails(json: body) : nil,
                    credentialUse: metadata.credentials.use(for: redirects)
                )
                if writer != nil, head.status.kind == .successful || head.status == .seeOther {
                    self.response = UploadedResponse(
                        status: head.status.code,
                        fields: head.headerFields,
                        body: Array(body.prefix(UploadedResponse.maximumBodySize))
                    )
                }
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
            case .ignored: loop.onEvent(.interimResponse(status: head.status.code, fields: head.headerFields))
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
    private func outcome(of action: UploadAction) -> AttemptOutcome {
        switch action {
        case .proceed: .proceed
        case .retryNow(let cause): .retryable(cause, isImmediate: true)
        case .retry(let retryAfter, let cause): .retryable(cause, retryAfter: retryAfter)
        }
    }

    /// A refusal that the caller may resolve: it ended the upload before the target processed anything. `nil` for any
    /// other response.
    private func refusal(_ head: UploadResponseHead, to plan: UploadRequestPlan, _ redirects: RedirectChain)
        -> AttemptOutcome?
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
        case .unauthorized(let challenge, _): refusal.challenge = challenge
        case .status, .otherProtocol: break
        default: return nil
        }
        return .refused(refusal, failure)
    }

    /// Journals the upload resource before more is sent.
    private func persist(_ resource: UploadResource, isNew: Bool) async throws(TransferError) {
        try await journal.begin(
            UploadJournal.Creation(
                target: state.parameters.target.text,
                resource: resource,
                source: source.identity,
                sha256: sha256
            ),
            mayBeComplete: state.mayBeComplete
        )
        if isNew { loop.onEvent(.resumable(dialect: Int(resource.dialect.interopVersion))) }
    }

    /// The body of a response that may have problem details, or be the target's; what has come when the connection fails.
    private func body(
        of head: HTTPResponse,
        isAllSent: Bool,
        _ iterator: inout ResponseParts.AsyncIterator
    ) async -> [UInt8] {
        let limit: Int
        switch head.status.kind {
        case .successful where isAllSent, .redirection where isAllSent && head.status == .seeOther:
            limit = UploadedResponse.maximumBodySize
        case .clientError
        where head.headerFields[.contentType]?.lowercased().hasPrefix(ProblemDetails.mediaType) == true:
            // Truncated problem details count as none.
            limit = ProblemDetails.maximumSize
        default: return []
        }
        var bytes: [UInt8] = []
        while bytes.count <= limit, case .body(let buffer)? = try? await iterator.next() {
            bytes += buffer.readableBytesView.prefix(limit + 1)
        }
        return bytes
    }
}
