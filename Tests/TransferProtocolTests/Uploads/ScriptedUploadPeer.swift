import HTTPTypes
import TransferProtocol
import Units

/// A server of resumable uploads as a value: it loses connections and responses, forgets uploads, and may lie.
///
/// It stores no bytes: an append at the right offset extends its prefix, any other is refused.
struct ScriptedUploadPeer {
    /// The lies of a server; the first is none.
    enum Lie: Int, CaseIterable {
        case none, offsetGoesDown, otherLocation, otherVersion, offsetBeyondEnd, otherLength, completeTooEarly
    }

    struct Upload {
        var stored: Int64 = 0
        var isComplete = false
        /// The highest offset reported to the client.
        var reported: Int64 = 0
    }

    /// The reply to one request.
    enum Reply {
        case cut(sent: Int64)
        case response(UploadResponseHead, sent: Int64)
    }

    let dialect: UploadWireFormat?
    let lie: Lie
    let length: Int64
    let maximumAppend: Int64?
    /// The share of requests with a fault.
    let misfortune: Double
    var draws: SeededGenerator
    var uploads: [Int: Upload] = [:]
    var madeUploads = 0
    /// The number of complete representations at the target.
    var deliveries = 0
    var brokenPromises = 0
    var appendsBelowAcknowledged = 0

    /// The client has lost all acknowledgements.
    mutating func forgetPromises() {
        for id in uploads.keys { uploads[id]?.reported = 0 }
    }

    mutating func chance(_ probability: Double) -> Bool { draws.nextFraction() < probability }

    /// A number from 0 to `most`.
    mutating func upTo(_ most: Int64) -> Int64 { Int64(draws.nextFraction() * Double(most + 1)) }

    mutating func respond(_ plan: UploadRequestPlan, _ state: inout UploadState, persist: (UploadResource) -> Void)
        -> Reply
    {
        if chance(misfortune / 4) { return .cut(sent: 0) }
        if chance(misfortune / 8) { return respond(503) }
        guard let dialect else { return ordinary(plan, &state) }
        guard let negotiated = plan.dialect else { return ordinary(plan, &state) }
        if negotiated != dialect, plan.resource == nil {
            return respond(400) { $0[.uploadDraftInteropVersion] = dialect.interopVersion.description }
        }
        switch plan {
        case .create, .reserve: return create(plan, dialect, &state, persist)
        case .discoverLimits: return respond(200) { fields in limits(&fields) }
        case .retrieveOffset(let resource): return offset(of: number(resource), dialect)
        case .append(let resource, let from, _, _): return append(plan, number(resource), from, dialect, &state)
        case .cancel(let resource):
            uploads[number(resource)] = nil
            return respond(204)
        }
    }

    private func number(_ resource: UploadResource) -> Int {
        Int(resource.url.path.split(separator: "/").last ?? "") ?? -1
    }

    private mutating func ordinary(_ plan: UploadRequestPlan, _ state: inout UploadState) -> Reply {
        guard case .create = plan else { return respond(404) }
        state.completionBegan()
        if chance(misfortune) { return .cut(sent: max(1, upTo(length)) - (chance(0.5) ? 0 : 1)) }
        deliveries += 1
        return chance(misfortune) ? .cut(sent: length) : respond(201, sent: length) { $0[.location] = "/made" }
    }

    private mutating func create(
        _ plan: UploadRequestPlan,
        _ dialect: UploadWireFormat,
        _ state: inout UploadState,
        _ persist: (UploadResource) -> Void
    ) -> Reply {
        if let maximumAppend, maximumAppend < plan.content(of: length)?.count ?? 0 {
            return respond(413) { fields in limits(&fields) }
        }
        madeUploads += 1
        let id = madeUploads
        uploads[id] = Upload()
        var location: HTTPFields = [.location: "/uploads/\(id)"]
        let reported = lie == .otherVersion ? UploadWireFormat.v9 : dialect
        location[.uploadDraftInteropVersion] =
            reported == dialect && lie == .otherVersion ? "4" : reported.interopVersion.description
        if !chance(misfortune / 4) {
            if case .created(let resource) = state.receivedInterimResponse(
                status: 104,
                fields: location,
                of: plan,
                now: 0
            ) {
                persist(resource)
            }
            if lie == .otherLocation {
                location[.location] = "/uploads/99"
                _ = state.receivedInterimResponse(status: 104, fields: location, of: plan, now: 0)
                return .cut(sent: 0)
            }
        }
        return take(plan, id, from: 0, dialect, &state)
    }

    private mutating func append(
        _ plan: UploadRequestPlan,
        _ id: Int,
        _ from: Int64,
        _ dialect: UploadWireFormat,
        _ state: inout UploadState
    ) -> Reply {
        guard let upload = uploads[id] else { return respond(404) }
        if from < upload.reported { appendsBelowAcknowledged += 1 }
        if upload.isComplete {
            guard dialect.rules.completedAppend == .replayOrRefuse, from == length else { return respond(400) }
            return respond(201) { dialect.encode(UploadFields(isComplete: true), into: &$0) }
        }
        guard from == upload.stored else {
            return respond(409) { dialect.encode(UploadFields(isComplete: false, offset: upload.stored), into: &$0) }
        }
        if let maximumAppend, maximumAppend < plan.content(of: length)?.count ?? 0 {
            return respond(413) { fields in limits(&fields) }
        }
        return take(plan, id, from: from, dialect, &state)
    }

    /// Receives the content of a creation or an append until it is cut.
    private mutating func take(
        _ plan: UploadRequestPlan,
        _ id: Int,
        from: Int64,
        _ dialect: UploadWireFormat,
        _ state: inout UploadState
    ) -> Reply {
        let count = Int64(plan.content(of: length)?.count ?? 0)
        let isCut = chance(misfortune)
        let sent = isCut ? upTo(count) : count
        if plan.completes, !isCut || sent == count { state.completionBegan() }
        let arrived = isCut ? upTo(sent) : count
        uploads[id]?.stored = from + arrived
        if dialect.rules.hasProgressResponses, arrived > 0, lie != .otherVersion, chance(0.5) {
            let offset = from + upTo(arrived)
            var progress: HTTPFields = [.uploadDraftInteropVersion: dialect.interopVersion.description]
            dialect.encode(UploadFields(offset: offset), into: &progress)
            if case .acknowledged = state.receivedInterimResponse(status: 104, fields: progress, of: plan, now: 0) {
                let reported = uploads[id]?.reported ?? 0
                uploads[id]?.reported = max(reported, offset)
            }
        }
        let completes = plan.completes && arrived == count && (!isCut || chance(0.5))
        if completes {
            deliveries += 1
            uploads[id]?.isComplete = true
            if dialect == .v5 || chance(misfortune / 8) { uploads[id] = nil }
        }
        guard !isCut, !chance(misfortune / 4) else { return .cut(sent: sent) }
        let isUnflagged = completes && dialect.rules.isUnflaggedResponseFinal
        let total = from + count
        return respond(completes ? 201 : 204, sent: count) { fields in
            dialect.encode(
                UploadFields(
                    isComplete: isUnflagged ? nil : completes,
                    offset: dialect.rules.responsesCarryOffset ? total : nil
                ),
                into: &fields
            )
            if case .append = plan { return }
            fields[.location] = "/uploads/\(id)"
        }
    }

    private mutating func offset(of id: Int, _ dialect: UploadWireFormat) -> Reply {
        if chance(misfortune / 16) { uploads[id] = nil }
        guard var upload = uploads[id] else { return respond(404) }
        if lie == .offsetGoesDown, upload.stored > 0, !upload.isComplete {
            upload.stored = upTo(upload.stored - 1)
            if upload.stored < upload.reported { brokenPromises += 1 }
        }
        var fields = UploadFields(isComplete: upload.isComplete, offset: upload.stored, length: length)
        if lie == .offsetBeyondEnd { fields.offset = length + 1 }
        if lie == .otherLength { fields.length = length + 1 }
        if lie == .completeTooEarly, upload.stored < length { fields.isComplete = true }
        upload.reported = max(upload.reported, upload.stored)
        uploads[id] = upload
        fields.limits = UploadLimits(maximumAppendSize: maximumAppend)
        return respond(204) { dialect.encode(fields, into: &$0) }
    }

    private func limits(_ fields: inout HTTPFields) {
        (dialect ?? .newest).encode(UploadFields(limits: UploadLimits(maximumAppendSize: maximumAppend)), into: &fields)
    }

    private func respond(_ status: Int, sent: Int64 = 0, _ change: (inout HTTPFields) -> Void = { _ in }) -> Reply {
        var fields: HTTPFields = [:]
        change(&fields)
        return .response(UploadResponseHead(status: status, fields: fields), sent: sent)
    }
}
