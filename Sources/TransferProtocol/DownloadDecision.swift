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
        case 200 where plan == .probe: return decideOnProbe(head)
        // Some servers send a part with the status of the whole.
        case 200 where plan.condition == nil || !head.isPart: return decideOnFull(head, plan)
        case 206 where plan.condition == nil && plan != .probe && head.isWhole: return decideOnFull(head, plan)
        case 200, 206: return decideOnPartial(head, plan)
        case 301, 302, 303, 307, 308:
            guard let location = head.fields[.location] else {
                return .fail(.redirection(status: head.status))
            }
            return .follow(location: location)
        // Authentication is about the request, so no other request form is tried.
        case 401, 407:
            return .fail(.unauthorized(HTTPChallenge(status: head.status, head.fields), head.credentialUse))
        case 412:
            // Only a precondition fails this way; without one it is a status like any other.
            guard let condition = plan.condition, condition != .unconditional else {
                return decideOnRefusal(head, plan)
            }
            return .conclude(want(.representationChanged, because: .representationChanged))
        case 404 where isBehindEnd(plan):
            // Some servers answer so to a range that starts at the end: one that starts earlier tells.
            tail = .broken
            return .retryNow(.completenessUnknown)
        case 416: return decideOnUnsatisfied(head, plan)
        case _ where head.status.isTransientStatus:
            return .retry(after: head.fields.retryAfter(now: now), .status(head.status))
        default: return decideOnRefusal(head, plan)
        }
    }

    /// Whether the range starts behind the received bytes, which may be all.
    private func isBehindEnd(_ plan: RequestPlan) -> Bool {
        guard case .remaining(length, _) = plan, representation?.total == nil else { return false }
        return lastBodyLength > 1
    }

    /// A status that a retry wouldn't change. A server that only rejects HEAD may still serve a GET.
    private mutating func decideOnRefusal(_ head: DownloadResponseHead, _ plan: RequestPlan) -> DownloadHeadDecision {
        guard plan == .probe else {
            return .fail(head.otherProtocol.map { .otherProtocol(status: head.status, $0) } ?? .status(head.status))
        }
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
        if let rejected = rejectionOfOtherFile(new, head, plan) { return rejected }
        if let coding = head.contentEncoding, !rules.storesCoded { return .fail(.contentEncoding(coding)) }
        if let rejection = secondTry(new, head, plan) { return .retryNow(.rejected(rejection)) }
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
        phase = .continuing
        tail = .whole
        rejections = 0
        body = DownloadBody(from: 0, received: 0, end: new.total, framing: head.framing)
        body?.isEndRemembered = !hadTotal && new.total != nil
        body?.isDigestRemembered = !hadDigest && new.digest != nil
        return hadNothing ? .begin : .truncateAndRestart(reason)
    }

    /// Rejects a full response to a range that is hardly the caller's file, such as a login page: the digest pins the file, and
    /// the length isn't that of the received bytes' one. Another resource may have a newer file of that digest, so it replaces
    /// the received bytes after several rejections in a row; a page of HTML never does.
    private mutating func rejectionOfOtherFile(
        _ new: DownloadRepresentation,
        _ head: DownloadResponseHead,
        _ plan: RequestPlan
    ) -> DownloadHeadDecision? {
        guard rules.hasExpectedDigest, plan.condition != nil, length > 0, let known = representation,
            let total = known.total, new.total != total
        else { return nil }
        if new.isPage, !known.isPage { return .retry(after: nil, .rejected(.otherFile)) }
        return head.isFromOtherResource ? reject(.otherFile) : nil
    }

    /// Whether a range under another condition may still bring the rest after a full response to a range: `nil`, or why
    /// this one didn't.
    private mutating func secondTry(
        _ new: DownloadRepresentation,
        _ head: DownloadResponseHead,
        _ plan: RequestPlan
    ) -> DownloadRejection? {
        guard let known = representation, length > 0, isSameResource(new, head) else { return nil }
        let isUnchanged = !known.isContradicted(by: new)
        // After a 412 too: the condition held.
        if isUnchanged, plan == .full(.representationChanged) { isConditionIgnored = true }
        guard let condition = plan.condition, condition != .unconditional else { return nil }
        guard !isUnchanged, !(areTagsUnreliable && known.differsInTagOnly(from: new)) else {
            isConditionIgnored = true
            return .conditionIgnored
        }
        guard known.differsInTagOnly(from: new) else { return nil }
        tagChanges += 1
        guard isTagUnreliable(known, new) else { return nil }
        areTagsUnreliable = true
        return .tagDiffers
    }

    /// Whether another entity tag says nothing: the dates are equal, the caller's digest decides, or the tag had changed
    /// before.
    private func isTagUnreliable(_ known: DownloadRepresentation, _ new: DownloadRepresentation) -> Bool {
        known.isModified(in: new) == false || rules.hasExpectedDigest || tagChanges > 1
    }

    /// Whether validators of the response apply to the received bytes, or a digest decides.
    private func isSameResource(_ new: DownloadRepresentation, _ head: DownloadResponseHead) -> Bool {
        !head.isFromOtherResource || rules.hasExpectedDigest || representation?.hasDigest(of: new) == true
    }

    private func restartReason(
        _ new: DownloadRepresentation,
        _ head: DownloadResponseHead,
        _ plan: RequestPlan
    ) -> RestartReason {
        switch plan {
        case .full(let reason): reason ?? .representationChanged
        case .remaining, .block, .probe:
            if !isSameResource(new, head) {
                .differentURL
            } else {
                representation?.isContradicted(by: new) == false ? .rangeIgnored : .representationChanged
            }
        }
    }

    /// 206: every check needed before combining ranges (RFC 9110, section 15.3.7).
    ///
    /// Without the same strong validator in both (section 15.3.7.3) the part must repeat received bytes.
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
        if let coding = known.contentCoding, !rules.storesCoded { return .fail(.contentEncoding(coding)) }
        if !areTagsUnreliable, known.differsInTagOnly(from: new) {
            tagChanges += 1
            areTagsUnreliable = isTagUnreliable(known, new)
        }
        guard !known.isContradicted(by: new) || (areTagsUnreliable && known.differsInTagOnly(from: new)) else {
            return .conclude(want(.representationChanged, because: .representationChanged))
        }
        guard isSameResource(new, head) else { return .conclude(want(.differentURL, because: .differentURL)) }
        guard first <= offset else { return reject(.startsLate(requested: offset, got: first)) }
        guard head.contentLength ?? (last - first + 1) == last - first + 1 else { return reject(.lengthsDisagree) }
        guard last < known.total ?? .max else { return reject(.lengthsDisagree) }
        if case .block(let range, _) = plan {
            guard known.isConfirmed(by: new, head) else { return reject(.noValidator) }
            guard first == offset else { return reject(.startsEarly(requested: offset, got: first)) }
            guard last < range.upperBound else { return reject(.lengthsDisagree) }
            rejections = 0
            body = DownloadBody(from: first, received: first, end: last + 1, framing: head.framing)
            body?.isRepair = true
            return .repair(from: first)
        }
        guard offset - first <= Self.maximumOverlap else {
            return reject(.startsEarly(requested: offset, got: first))
        }
        if areTagsUnreliable || !known.isConfirmed(by: new, head) {
            guard first < length || tail == .repeated else {
                tail = .broken
                lastBodyLength = max(lastBodyLength, 2)
                return .retryNow(.rejected(.noValidator))
            }
            representation?.evidence.isJoinedByOverlap = true
        }
        if tail != .repeated, length - first < DownloadEvidence.minimumOverlap {
            representation?.evidence.hasUncomparedJoin = true
        }
        representation?.merge(from: new)
        rejections = 0
        body = DownloadBody(from: first, received: length, end: last + 1, framing: head.framing)
        return first == length ? .append : .appendDropping(length - first)
    }

    /// 416: the received bytes are complete, or belong to another representation (RFC 9110, section 15.5.17).
    private mutating func decideOnUnsatisfied(_ head: DownloadResponseHead, _ plan: RequestPlan) -> DownloadHeadDecision
    {
        guard let condition = plan.condition, let known = representation else { return decideOnRefusal(head, plan) }
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
        // That of the error page.
        new.contentCoding = known.contentCoding
        // Had the condition not held, the server would have answered 200 or 412 (RFC 9110, section 13.2.2).
        let isSame = condition == .unconditional ? known.isConfirmed(by: new, head) : !known.isContradicted(by: new)
        if isSame, isSameResource(new, head) {
            representation?.merge(from: new)
            tail = .whole
            return .complete
        }
        phase = .probing
        return .retryNow(.completenessUnknown)
    }

    /// 200 to a HEAD: whether the received bytes are complete.
    private mutating func decideOnProbe(_ head: DownloadResponseHead) -> DownloadHeadDecision {
        phase = .continuing
        let new = DownloadRepresentation(head)
        if representation?.isContradicted(by: new) == true { representation?.evidence.isContradicted = true }
        guard let known = representation, isSameResource(new, head),
            known.strongValidator == nil || areTagsUnreliable
                ? !known.isContradicted(by: new) || known.differsInTagOnly(from: new) : known.isConfirmed(by: new, head)
        else { return .conclude(want(.representationChanged, because: .representationChanged)) }
        guard new.total == length else {
            return .conclude(want(.rangeUnusable(.rangeRefused), because: .rejected(.rangeRefused)))
        }
        representation?.merge(from: new)
        // The server confirms a length that was inferred from the end of a connection.
        representation?.evidence.isLengthUnknown = false
        tail = .whole
        return .complete
    }

    /// Leaves an unusable partial response unread; after several in a row requests the full representation.
    private mutating func reject(_ rejection: DownloadRejection) -> DownloadHeadDecision {
        rejections += 1
        guard rejections >= Self.rejectionsBeforeFullRequest else { return .retry(after: nil, .rejected(rejection)) }
        return .conclude(want(.rangeUnusable(rejection), because: .rejected(rejection)))
    }
}
