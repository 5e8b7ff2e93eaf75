import HTTPSemantics
import HTTPTypes

extension UploadState {
    /// Decides on the final response to `plan` after `sent` content bytes were written. `now` is the wall clock in
    /// seconds since 1970. The request is over: the rest of its content isn't sent.
    public mutating func decide(
        on head: UploadResponseHead,
        to plan: UploadRequestPlan,
        sent: Int64,
        now: Int64
    ) -> UploadAction {
        let advertised = plan.dialect?.decode(head.fields) ?? UploadFields()
        applyLimits(advertised.limits, now: now)
        if [301, 302, 307, 308].contains(head.status) { return redirect(head, plan) }
        if head.status == 401 || head.status == 407 {
            return fail(.unauthorized(HTTPChallenge(status: head.status, head.fields), head.credentialUse))
        }
        if head.status == 412, let name = head.fields.tusVersion {
            return fail(.otherProtocol(status: head.status, name))
        }
        switch plan {
        case .create, .reserve, .append:
            let response = ContentResponse(
                head: head,
                advertised: advertised,
                plan: plan,
                sent: sent,
                isAllSent: plan.completes && sent == plan.content(of: parameters.length)?.count64,
                now: now
            )
            return decide(response)
        case .retrieveOffset(let resource): return decideOnOffset(head, advertised, resource, now)
        case .discoverLimits(let dialect): return decideOnLimits(head, advertised, dialect, now)
        case .cancel: return .proceed
        }
    }

    /// A response to a request with content, with its context.
    private struct ContentResponse {
        var head: UploadResponseHead
        var advertised: UploadFields
        var plan: UploadRequestPlan
        var sent: Int64
        /// Whether the request completes the upload and all its content was sent.
        var isAllSent: Bool
        var now: Int64

        /// Whether the response is the target resource's final one.
        ///
        /// Before version 9 the flag in a 409 is the state of the upload.
        var isFinalResponse: Bool {
            guard let dialect = plan.dialect else { return true }
            if dialect.rules.isIncompleteAppendFlaggedComplete, isIncompleteAppend, (200..<300).contains(head.status) {
                return false
            }
            return advertised.isComplete == true && (head.status != 409 || dialect.rules.conflictCarriesFlag)
        }

        /// Whether a response that isn't flagged may be the target's: a later run couldn't tell its refusal from a lost
        /// response.
        var mayBeTargets: Bool { isAllSent }

        private var isIncompleteAppend: Bool {
            if case .append = plan { !plan.completes } else { false }
        }

        func result(_ dialect: UploadWireFormat?) -> UploadResult {
            UploadResult(
                status: head.status,
                digest: head.fields[.reprDigest].flatMap { ReprDigest($0) },
                dialect: dialect
            )
        }
    }

    private mutating func decide(_ response: ContentResponse) -> UploadAction {
        let status = response.head.status
        if case .create(nil) = response.plan { return decideOnPlainUpload(response) }
        if response.isFinalResponse { return decideOnFinalResponse(response) }
        if isReplaying, (400..<500).contains(status), status != 408, status != 425, status != 429 {
            // Only the response can't be replayed: the server already said that the upload is complete.
            return finish(UploadResult(status: nil, dialect: response.plan.dialect))
        }
        switch status {
        case 200..<300: return decideOnSuccess(response)
        case 303 where response.advertised.isComplete == nil && resource == nil: return decideOnFinalResponse(response)
        case 400: return decideOnBadRequest(response)
        case 404 where response.plan.resource != nil, 410 where response.plan.resource != nil:
            return restart(because: .uploadGone)
        case 409 where resource != nil: return retryNow(.status(409))
        case 413: return shrink(response)
        case _ where status.isTransientStatus:
            guard resource != nil || parameters.isRepeatable || status == 429 || status == 503 else {
                return fail(.status(status))
            }
            let wait = response.head.fields.retryAfter(now: response.now)
            return retry(response.plan, sent: response.sent, after: wait, .status(status))
        default: return fail(.status(status), isTargets: response.mayBeTargets)
        }
    }

    /// A response to a plain upload.
    private mutating func decideOnPlainUpload(_ response: ContentResponse) -> UploadAction {
        let status = response.head.status
        guard status.isTransientStatus else { return decideOnFinalResponse(response) }
        guard parameters.isRepeatable || [429, 503].contains(status) else { return fail(.status(status)) }
        return .retry(after: response.head.fields.retryAfter(now: response.now), .status(status))
    }

    /// The target's final response ends the upload.
    private mutating func decideOnFinalResponse(_ response: ContentResponse) -> UploadAction {
        let status = response.head.status
        guard (200..<300).contains(status) || status == 303 else { return fail(.status(status), isTargets: true) }
        if let offset = response.advertised.offset, offset != parameters.length {
            return fail(.violation(.completeTooEarly(offset: offset, length: parameters.length)))
        }
        guard response.isAllSent else { return fail(.respondedEarly(status: status)) }
        return finish(response.result(response.advertised == UploadFields() ? nil : response.plan.dialect))
    }

    /// A 2xx not flagged as the target's.
    private mutating func decideOnSuccess(_ response: ContentResponse) -> UploadAction {
        guard let dialect = response.plan.dialect else { return decideOnFinalResponse(response) }
        if case .create = response.plan, response.advertised.isComplete == nil, response.advertised.offset == nil,
            resource == nil
        {
            // The server doesn't support resumable uploads: this was a plain one.
            return decideOnFinalResponse(response)
        }
        if resource == nil {
            guard let url = response.head.fields[.location].flatMap({ usable($0) }) else {
                return fail(.violation(.locationMissing))
            }
            created = named(url, dialect, response.now)
        }
        guard let resource else { return fail(.violation(.locationMissing)) }
        // Interim and final responses to a creation must name the same resource; only the target's own response may
        // differ.
        if response.plan.resource == nil, response.advertised.isComplete == false,
            let url = response.head.fields[.location].flatMap({ usable($0) }), url != resource.url
        {
            return fail(.violation(.locationChanged))
        }
        if response.advertised.isComplete == nil, response.isAllSent {
            if dialect.rules.isUnflaggedResponseFinal { return decideOnFinalResponse(response) }
            // Version 9 only recommends the flag on creations; without a `Location` the response is the target's.
            if case .create = response.plan, response.head.fields[.location] == nil {
                return decideOnFinalResponse(response)
            }
            unflaggedResponse = response.result(dialect)
        }
        if isReplaying, response.advertised.isComplete == nil { return finish(response.result(dialect)) }
        // The next offset shows whether the server took any content; an empty creation has none.
        switch response.plan {
        case .append(_, let from, let count, _): offsetToExceed = count > 0 ? from : nil
        case .create: offsetToExceed = parameters.length > 0 ? acknowledged : nil
        case .reserve, .discoverLimits, .retrieveOffset, .cancel: offsetToExceed = nil
        }
        let finishesNothing = response.plan.content(of: parameters.length)?.isEmpty == true && response.plan.completes
        retrieveOffset(resource)
        return finishesNothing ? .retry(after: nil, .noProgress) : .proceed
    }

    /// 400: an unsupported version, or a client error.
    private mutating func decideOnBadRequest(_ response: ContentResponse) -> UploadAction {
        if response.head.problem == .completedUpload, resource != nil { return retryNow(.status(400)) }
        let named = UploadWireFormat.interopVersion(in: response.head.fields)
        guard case .create(let dialect?) = response.plan, resource == nil, let named,
            UploadWireFormat(interopVersion: named) != dialect
        else { return fail(.status(400), isTargets: response.mayBeTargets) }
        guard case .automatic = parameters.dialects else { return fail(.dialectRefused(named)) }
        // The request was refused before the target saw it, so even a POST can be repeated.
        guard let other = UploadWireFormat(interopVersion: named), triedDialects.insert(other).inserted else {
            phase = .creating(nil)
            return .retryNow(.differentDialect(nil))
        }
        phase = creationPhase(other)
        return .retryNow(.differentDialect(other))
    }

    /// 413: retries with smaller requests, within the server's limits.
    private mutating func shrink(_ response: ContentResponse) -> UploadAction {
        guard let dialect = response.plan.dialect else { return fail(.status(413)) }
        if let most = limits.maximumSize, most < parameters.length { return fail(.sizeRefused(limits: limits)) }
        let count = response.plan.content(of: parameters.length)?.count64 ?? 0
        guard resource != nil else {
            if let appendSizeLimit, appendSizeLimit < count {
                phase = .reserving(dialect)
            } else if dialect.rules.hasLimitDiscovery, response.advertised.limits == nil,
                response.plan != .reserve(dialect)
            {
                phase = .discovering(dialect)
            } else {
                return fail(.status(413))
            }
            return checkAppendLimit() ?? .retryNow(.smallerRequests)
        }
        if response.advertised.limits?.maximumAppendSize.map({ $0 < count }) != true {
            let floor = max(limits.minimumAppendSize ?? 0, Self.minimumChunkSize)
            guard count > floor else { return fail(.status(413), isTargets: response.mayBeTargets) }
            appendSizeLimit = max(floor, count / 2)
        }
        return checkAppendLimit() ?? retryNow(.smallerRequests)
    }

    private mutating func checkAppendLimit() -> UploadAction? {
        guard let appendSizeLimit, appendSizeLimit < Self.minimumAppendLimit, appendSizeLimit < parameters.length else {
            return nil
        }
        return fail(.appendLimitTooSmall(appendSizeLimit))
    }

    private mutating func retryNow(_ cause: TransientFailure) -> UploadAction {
        redirections = 0
        if let resource { retrieveOffset(resource) }
        offsetToExceed = nil
        return .retryNow(cause)
    }

    /// Retrieves the offset again after a wait.
    private mutating func retrieveOffsetAgain(after wait: Duration? = nil, _ cause: TransientFailure) -> UploadAction {
        redirections = 0
        if let resource { retrieveOffset(resource) }
        return .retry(after: wait, cause)
    }

    /// The response to HEAD.
    private mutating func decideOnOffset(
        _ head: UploadResponseHead,
        _ advertised: UploadFields,
        _ resource: UploadResource,
        _ now: Int64
    ) -> UploadAction {
        switch head.status {
        case 200..<300: break
        case 404, 410: return restart(because: .uploadGone)
        case 408, 409, 425, 429, 500..<600:
            return retrieveOffsetAgain(after: head.fields.retryAfter(now: now), .status(head.status))
        // What has expired may be refused by any status.
        case 400..<500 where resource.expiresAt.map({ $0 <= now }) == true: return restart(because: .uploadExpired)
        default: return fail(.status(head.status))
        }
        guard let offset = advertised.offset else { return retrieveOffsetAgain(.noOffset) }
        if acknowledge(offset) != nil { return .proceed }
        if let length = advertised.length, length != parameters.length {
            return fail(.violation(.lengthDiffers(got: length, length: parameters.length)))
        }
        if advertised.isComplete == true {
            guard offset == parameters.length else {
                return fail(.violation(.completeTooEarly(offset: offset, length: parameters.length)))
            }
            if let unflaggedResponse { return finish(unflaggedResponse) }
            guard resource.dialect.rules.completedAppend == .replayOrRefuse else {
                return finish(UploadResult(status: nil, dialect: resource.dialect))
            }
            isReplaying = true
        }
        if let mark = offsetToExceed, offset <= mark {
            offsetToExceed = nil
            return retrieveOffsetAgain(.noProgress)
        }
        offsetToExceed = nil
        if offset < parameters.length {
            unflaggedResponse = nil
            if let failed = checkAppendLimit() { return failed }
        }
        guard case .retrievingOffset(let known) = phase else { return .proceed }
        phase = .appending(known, from: offset)
        return .proceed
    }

    /// The response to OPTIONS, sent only after a 413.
    private mutating func decideOnLimits(
        _ head: UploadResponseHead,
        _ advertised: UploadFields,
        _ dialect: UploadWireFormat,
        _ now: Int64
    ) -> UploadAction {
        switch head.status {
        case 200..<300: break
        case _ where head.status.isTransientStatus:
            return .retry(after: head.fields.retryAfter(now: now), .status(head.status))
        default: return fail(.status(413))
        }
        guard advertised.limits != nil else { return fail(.status(413)) }
        if let most = limits.maximumSize, most < parameters.length { return fail(.sizeRefused(limits: limits)) }
        if let least = limits.minimumSize, least > parameters.length { return fail(.sizeRefused(limits: limits)) }
        guard let appendSizeLimit, appendSizeLimit < parameters.length else { return fail(.status(413)) }
        phase = .reserving(dialect)
        return checkAppendLimit() ?? .proceed
    }

    /// 301, 302, 307 and 308: repeats the request at another URL. A POST with 301 or 302 may become a GET there, so it ends.
    private mutating func redirect(_ head: UploadResponseHead, _ plan: UploadRequestPlan) -> UploadAction {
        var redirects = redirects(of: plan)
        let from = redirects.current
        guard redirections < Self.maximumRedirects, let location = head.fields[.location],
            let url = try? from.resolving(location), url.isAsSafe(as: from)
        else { return fail(.redirection(status: head.status)) }
        if plan.resource == nil, parameters.isPost, head.status < 303 {
            return fail(.redirection(status: head.status, to: url.text))
        }
        redirections += 1
        redirects.follow(url)
        guard plan.resource != nil, var resource else {
            // A resource made by the redirecting server doesn't belong to the new target.
            if let created { abandoned.append(created) }
            created = nil
            creation = redirects
            return .proceed
        }
        if resource.redirects == nil, head.status == 301 || head.status == 308 {
            (resource.url, resource.hasLeftOrigin) = (url, redirects.hasLeftOrigin)
            retrieveOffset(resource)
        } else {
            retrieveOffset(resource, along: redirects)
        }
        return .proceed
    }
}

extension Range<Int64> {
    /// The number of integers in the range.
    var count64: Int64 { upperBound - lowerBound }
}
