import HTTPTypes

extension DownloadState {
    /// Decides on the head of a final response to `plan`. `now` is the wall clock in seconds since 1970, for a
    /// `Retry-After` with a date.
    ///
    /// After `append`, `appendDropping`, `begin` and `truncateAndRestart` the body is passed to `received(_:)` and then
    /// to `bodyEnded(trailers:)` or `bodyInterrupted()`; after every other decision it is left unread.
    public mutating func decide(on head: DownloadResponseHead, to plan: RequestPlan, now: Int64) -> DownloadHeadDecision
    {
        body = nil
        switch head.status {
        case 200: return plan == .probe ? decideOnProbe(head) : decideOnFull(head, plan)
        case 206: return decideOnPartial(head, plan)
        case 301, 302, 303, 307, 308:
            guard let location = head.fields[.location] else {
                return .fail(.redirectWithoutLocation(status: head.status))
            }
            return .follow(location: location)
        // Authentication is about the request, so no other request form is tried.
        case 401, 407:
            return .fail(.unauthorized(DownloadChallenge(status: head.status, head.fields), head.credentialUse))
        case 412:
            // Only a precondition fails this way; without one it is a status like any other.
            guard plan.isConditionalRange else { return decideOnRefusal(head, plan) }
            return .conclude(want(.representationChanged, because: .representationChanged))
        case 416: return decideOnUnsatisfied(head, plan)
        case 408, 425, 429, 500, 502...504, 506...599:
            return .retry(after: head.retryAfter(now: now), .status(head.status))
        default: return decideOnRefusal(head, plan)
        }
    }

    /// A status that a retry wouldn't change. A server that only rejects HEAD may still serve a GET.
    private mutating func decideOnRefusal(_ head: DownloadResponseHead, _ plan: RequestPlan) -> DownloadHeadDecision {
        guard plan == .probe else { return .fail(.status(head.status)) }
        return .conclude(want(.rangeUnusable(.rangeRefused), because: .status(head.status)))
    }

    /// 200: a full representation, whatever was requested.
    private mutating func decideOnFull(_ head: DownloadResponseHead, _ plan: RequestPlan) -> DownloadHeadDecision {
        if case .unsupported(let coding) = head.framing {
            return .retry(after: nil, .rejected(.transferCoding(coding)))
        }
        var new = DownloadRepresentation(head)
        if head.fields[.contentRange] != nil {
            // Undefined for 200 (RFC 9110, section 14.4); harmless only when it covers the full representation.
            guard case .bytes(let first, let last, let total) = head.contentRange, first == 0,
                total ?? last + 1 == last + 1, head.contentLength ?? last + 1 == last + 1
            else { return .retry(after: nil, .rejected(.lengthsDisagree)) }
            new.total = last + 1
        }
        if let coding = head.contentEncoding { return .fail(.contentEncoding(coding)) }
        let reason = restartReason(new, head, plan)
        let hadNothing = length == 0
        let hadTotal = new.total != nil
        let hadDigest = new.digest != nil
        if var known = representation {
            // A total that was inferred from the end of a connection may be a truncation.
            if known.evidence.isLengthUnknown { known.total = nil }
            if known.isConfirmed(by: new, head) { new.fillMissing(from: known) }
            new.requiresDigest = known.requiresDigest
        }
        representation = new
        length = 0
        phase = .continuing(repeating: false)
        rejections = 0
        body = DownloadBody(from: 0, received: 0, end: new.total, framing: head.framing)
        body?.isEndRemembered = !hadTotal && new.total != nil
        body?.isDigestRemembered = !hadDigest && new.digest != nil
        return hadNothing ? .begin : .truncateAndRestart(reason)
    }

    private func restartReason(
        _ new: DownloadRepresentation,
        _ head: DownloadResponseHead,
        _ plan: RequestPlan
    ) -> DownloadRestartReason {
        switch plan {
        case .full(let reason): reason ?? .representationChanged
        case .remaining, .block, .probe:
            representation?.isConfirmed(by: new, head) == true
                ? .rangeIgnored : head.isFromOtherResource ? .differentURL : .representationChanged
        }
    }

    /// 206: every check needed before combining ranges (RFC 9110, section 15.3.7).
    private mutating func decideOnPartial(_ head: DownloadResponseHead, _ plan: RequestPlan) -> DownloadHeadDecision {
        let offset: Int64
        switch plan {
        case .remaining(let first, _): offset = first
        case .block(let range, _): offset = range.lowerBound
        case .full, .probe: return .retry(after: nil, .rejected(.unrequestedPartialContent))
        }
        guard let known = representation else { return .retry(after: nil, .rejected(.unrequestedPartialContent)) }
        if case .unsupported(let coding) = head.framing { return reject(.transferCoding(coding)) }
        guard !head.isMultipart else { return reject(.multipart) }
        guard case .bytes(let first, let last, _) = head.contentRange else { return reject(.noContentRange) }
        let new = DownloadRepresentation(head)
        guard !known.isContradicted(by: new), head.contentEncoding == nil else {
            return .conclude(want(.representationChanged, because: .representationChanged))
        }
        guard !head.isFromOtherResource || known.hasDigest(of: new) else {
            return .conclude(want(.differentURL, because: .differentURL))
        }
        guard known.canBeCombined(by: new, head) else { return reject(.noValidator) }
        guard first <= offset else { return reject(.startsLate(requested: offset, got: first)) }
        guard head.contentLength ?? (last - first + 1) == last - first + 1 else { return reject(.lengthsDisagree) }
        guard last < known.total ?? .max else { return reject(.lengthsDisagree) }
        if case .block(let range, _) = plan {
            guard first == offset else { return reject(.startsEarly(requested: offset, got: first)) }
            guard last < range.upperBound else { return reject(.lengthsDisagree) }
            rejections = 0
            body = DownloadBody(from: first, received: first, end: last + 1, framing: head.framing)
            body?.isRepair = true
            return .repair(from: first)
        }
        guard last >= length else { return reject(.nothingNew) }
        // Dropping requires identical bytes, so the response itself must carry the validator.
        guard first == offset || (length - first <= Self.maximumOverlap && known.isConfirmed(by: new, head)) else {
            return reject(.startsEarly(requested: offset, got: first))
        }
        if first == length, case .lastModified = known.strongValidator, new.lastModified == nil {
            // Only the server's honouring of If-Range supports these bytes: the range must also overlap.
            phase = .continuing(repeating: true)
            return .retryNow(.rejected(.noValidator))
        }
        representation?.merge(from: new)
        rejections = 0
        body = DownloadBody(from: first, received: length, end: last + 1, framing: head.framing)
        return first == length ? .append : .appendDropping(length - first)
    }

    /// 416: the received bytes are complete, or belong to another representation (RFC 9110, section 15.5.17).
    private mutating func decideOnUnsatisfied(_ head: DownloadResponseHead, _ plan: RequestPlan) -> DownloadHeadDecision
    {
        guard plan.isConditionalRange, let known = representation else { return decideOnRefusal(head, plan) }
        if case .block = plan {
            return .conclude(want(.rangeUnusable(.rangeRefused), because: .rejected(.rangeRefused)))
        }
        guard case .unsatisfied(let total) = head.contentRange else {
            phase = .probing
            return .retryNow(.completenessUnknown)
        }
        guard known.total ?? total == total, total >= length else {
            return .conclude(want(.representationChanged, because: .representationChanged))
        }
        guard total == length else {
            return .conclude(want(.rangeUnusable(.rangeRefused), because: .rejected(.rangeRefused)))
        }
        var new = DownloadRepresentation(head)
        new.total = total
        if known.isConfirmed(by: new, head) {
            representation?.merge(from: new)
            return .complete
        }
        phase = .probing
        return .retryNow(.completenessUnknown)
    }

    /// 200 to a HEAD: whether the received bytes are complete.
    private mutating func decideOnProbe(_ head: DownloadResponseHead) -> DownloadHeadDecision {
        phase = .continuing(repeating: false)
        let new = DownloadRepresentation(head)
        if representation?.isContradicted(by: new) == true { representation?.evidence.isContradicted = true }
        guard let known = representation, known.isConfirmed(by: new, head) else {
            return .conclude(want(.representationChanged, because: .representationChanged))
        }
        guard new.total == length else {
            return .conclude(want(.rangeUnusable(.rangeRefused), because: .rejected(.rangeRefused)))
        }
        representation?.merge(from: new)
        // The server confirms a length that was inferred from the end of a connection.
        representation?.evidence.isLengthUnknown = false
        return .complete
    }

    /// Leaves an unusable partial response unread; after several in a row requests the full representation.
    private mutating func reject(_ rejection: DownloadRejection) -> DownloadHeadDecision {
        rejections += 1
        guard rejections >= Self.rejectionsBeforeFullRequest else { return .retry(after: nil, .rejected(rejection)) }
        return .conclude(want(.rangeUnusable(rejection), because: .rejected(rejection)))
    }
}
