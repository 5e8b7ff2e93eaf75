import HTTPSemantics
import TransferProtocol
import Units

/// The state machine of one upload: consumes requests, content and store results, and returns actions.
///
/// There is at most one store command and one request with content at a time. A newer request supersedes an older one:
/// the older connection is closed, and the newer request is served after the current store command. Only durable
/// offsets are acknowledged.
struct UploadStateMachine {
    /// The phase of the upload.
    enum Phase: Hashable {
        /// The store is creating it.
        case creating
        /// It accepts content.
        case receiving
        /// It has ended, and the outcome is kept.
        case completed(UploadEnd)
        /// It is about to be removed; nothing more is acknowledged.
        case condemned
        /// The store has removed it.
        case removed
    }

    /// A request with content.
    struct Transfer {
        let id: UploadRequestID
        let dialect: UploadWireFormat?
        let isCreation: Bool
        /// Whether its content completes the upload.
        let completes: Bool
        var received: Int64 = 0
        /// Content not yet passed to the store.
        var pending: [UInt8]?
        var hasEnded = false
        /// The digest check, until it has passed.
        var check: ContentCheck?
        /// Whether the next content was requested.
        var isContentRequested = false
        var interimResponses = 0
        var lastInterimResponse: Duration
    }

    let token: UploadToken
    let location: String
    let policy: UploadPolicy
    var record: UploadRecord
    let isDurable: Bool
    var phase: Phase
    /// Bytes written by the store.
    var received: Int64 = 0
    /// Durable bytes, the maximum that is acknowledged.
    var acknowledged: Int64 = 0
    var command: UploadStoreCommand?
    var transfer: Transfer?
    /// Content of an ended request, not yet passed to the store.
    var remainingContent: [UInt8]?
    /// The newest request, while it waits for the store.
    var nextRequest: (id: UploadRequestID, request: UploadRequestHead)?
    /// Whether the store failed and must be restored first.
    var needsRestore = false
    /// Whether the store has the files open.
    var isOpen = false
    /// Whether the upload was marked for removal during a store command, which may then end early.
    var isAbandoned = false
    var lastUse: UploadInstant
    var lastCheckpoint: Duration
    var actions: [UploadServerAction] = []

    /// Makes an upload for a creation request.
    init(
        token: UploadToken,
        location: String,
        record: UploadRecord,
        id: UploadRequestID,
        completes: Bool,
        contentDigest: ReprDigest? = nil,
        policy: UploadPolicy,
        now: UploadInstant
    ) {
        self.token = token
        self.location = location
        self.policy = policy
        self.record = record
        isDurable = record.dialect != nil
        phase = .creating
        transfer = Transfer(
            id: id,
            dialect: record.dialect,
            isCreation: true,
            completes: completes,
            check: ContentCheck(contentDigest, policy),
            lastInterimResponse: now.elapsed
        )
        lastUse = now
        lastCheckpoint = now.elapsed
    }

    /// Makes a recovered upload.
    init(
        token: UploadToken,
        location: String,
        recovered: RecoveredUpload,
        policy: UploadPolicy,
        now: UploadInstant
    ) {
        self.token = token
        self.location = location
        self.policy = policy
        record = recovered.record
        isDurable = true
        switch recovered.state {
        case .receiving(let length):
            phase = .receiving
            received = length
        case .completed(let outcome):
            phase = .completed(.file(outcome))
            received = outcome.length
        }
        acknowledged = received
        lastUse = now
        lastCheckpoint = now.elapsed
    }

    // MARK: - Events

    /// A request for this upload arrived, other than its creation.
    mutating func requestArrived(_ id: UploadRequestID, _ request: UploadRequestHead, at now: UploadInstant) {
        lastUse = now
        if let old = transfer {
            actions.append(.close(old.id))
            detach(old)
        }
        if let old = nextRequest { actions.append(.close(old.id)) }
        nextRequest = (id, request)
        if command != nil, removes(request) { phase = .condemned }
        advance(at: now)
    }

    /// Content arrived: requested, or the last before the connection was lost.
    mutating func contentArrived(_ id: UploadRequestID, _ bytes: [UInt8], at now: UploadInstant) {
        guard transfer?.id == id else { return }
        lastUse = now
        if let before = transfer?.pending {
            transfer?.pending = before + bytes
        } else {
            transfer?.pending = bytes
        }
        transfer?.isContentRequested = false
        advance(at: now)
    }

    /// All content of a request arrived.
    mutating func contentEnded(_ id: UploadRequestID, at now: UploadInstant) {
        guard transfer?.id == id else { return }
        transfer?.hasEnded = true
        advance(at: now)
    }

    /// The connection of a request was lost before the end of its content.
    mutating func requestDisconnected(_ id: UploadRequestID, at now: UploadInstant) {
        if nextRequest?.id == id { nextRequest = nil }
        guard let old = transfer, old.id == id else { return }
        detach(old)
        // No client could resume it.
        if !isDurable || phase == .creating, !isFinishing { phase = .condemned }
        advance(at: now)
    }

    /// The upload expired.
    mutating func expired(at now: UploadInstant) {
        guard phase != .removed else { return }
        phase = .condemned
        advance(at: now)
    }

    /// When the upload expires, in seconds since 1970.
    var expiry: Int64 { min(lifetimeEnd, lastUse.wall.addingSaturated(policy.idleTimeout)) }

    /// When its lifetime ends, in seconds since 1970.
    var lifetimeEnd: Int64 { record.created.addingSaturated(policy.lifetime) }

    /// Whether the upload has been removed.
    var isRemoved: Bool { phase == .removed }

    /// Whether the upload has ended and only its outcome is kept.
    var hasEnded: Bool { if case .completed = phase { true } else { false } }

    /// Whether a request is using it.
    var isBusy: Bool { transfer != nil || nextRequest != nil }

    private var isFinishing: Bool { if case .finish = command { true } else { false } }

    // MARK: - The next step

    /// Performs the next steps until it must wait for the store or a client.
    mutating func advance(at now: UploadInstant) {
        if phase == .condemned, let command, command != .remove { isAbandoned = true }
        guard command == nil, phase != .removed else { return }
        if phase == .condemned { return issue(.remove) }
        if let bytes = remainingContent {
            remainingContent = nil
            let space = min(record.length ?? .max, policy.maximumSize) - received
            if phase == .receiving, !needsRestore, Int64(bytes.count) <= space {
                return issue(.append(bytes, offset: received))
            }
        }
        if nextRequest != nil {
            if needsRestore { return issue(.restore) }
            if received > acknowledged { return issue(.checkpoint(length: record.length)) }
            guard let (id, request) = nextRequest else { return }
            nextRequest = nil
            serve(id, request, at: now)
            return
        }
        if phase == .creating { return issue(.create(record, isDurable: isDurable)) }
        if transfer != nil { return advanceTransfer(at: now) }
        if phase == .receiving, !needsRestore, received > acknowledged {
            return issue(.checkpoint(length: record.length))
        }
        if isOpen { issue(.release) }
    }

    private mutating func advanceTransfer(at now: UploadInstant) {
        guard let transfer else { return }
        if let bytes = transfer.pending {
            if let refusal = refusal(of: bytes.count, in: transfer, at: now) { return end(refusal, at: now) }
            self.transfer?.pending = nil
            return issue(.append(bytes, offset: received))
        }
        if isDurable, isCheckpointDue(at: now) { return issue(.checkpoint(length: record.length)) }
        guard transfer.hasEnded else {
            if !transfer.isContentRequested {
                self.transfer?.isContentRequested = true
                actions.append(.receive(transfer.id))
            }
            return
        }
        if let check = transfer.check {
            guard check.isPassed else { return end(wrongContent(in: transfer), at: now) }
            self.transfer?.check = nil
        }
        if transfer.completes { return complete(transfer, at: now) }
        if received > acknowledged { return issue(.checkpoint(length: record.length)) }
        end(incompleteResponse(to: transfer, at: now), at: now)
    }

    private mutating func complete(_ transfer: Transfer, at now: UploadInstant) {
        if let length = record.length, length != received {
            if !isDurable { phase = .condemned }
            return respondWhenDurable(at: now) { $0.inconsistentLength(at: now) }
        }
        guard received >= policy.minimumSize else {
            return respondWhenDurable(at: now) { $0.limited(400, "The file is smaller than min-size.", at: now) }
        }
        record.length = received
        issue(.finish(digest: record.digest))
    }

    /// Responds to the transfer once its content is durable.
    private mutating func respondWhenDurable(at now: UploadInstant, _ response: (UploadStateMachine) -> UploadResponse)
    {
        if isDurable, received > acknowledged { return issue(.checkpoint(length: record.length)) }
        end(response(self), at: now)
    }

    /// Whether a checkpoint is due.
    private func isCheckpointDue(at now: UploadInstant) -> Bool {
        guard received > acknowledged, transfer?.check == nil else { return false }
        return received - acknowledged >= policy.checkpointBytes
            || now.elapsed - lastCheckpoint >= policy.progressInterval
    }

    mutating func issue(_ next: UploadStoreCommand) {
        command = next
        actions.append(.store(token, next))
    }

    /// Responds to the request with content and ends it.
    mutating func end(_ response: UploadResponse, at now: UploadInstant) {
        guard let transfer else { return }
        actions.append(.respond(transfer.id, response))
        self.transfer = nil
        if transfer.check != nil { discard() }
        if !isDurable, phase == .receiving { phase = .condemned }
        advance(at: now)
    }

    // MARK: - Results of the store

    /// The store completed the command.
    mutating func stored(_ result: UploadStoreResult, at now: UploadInstant) {
        guard let done = command else { return }
        command = nil
        if case .failed(let failure) = result { return failed(done, failure, at: now) }
        switch (done, result) {
        case (.create, _):
            isOpen = true
            if phase == .creating { phase = .receiving }
            announce(at: now)
        case (.append(let bytes, _), _):
            isOpen = true
            // Content after an early response doesn't count.
            if phase == .receiving { received += Int64(bytes.count) }
            transfer?.received += Int64(bytes.count)
            transfer?.check?.update(bytes)
        case (.checkpoint, _):
            isOpen = true
            acknowledged = received
            lastCheckpoint = now.elapsed
            reportProgress(at: now)
        case (.finish, .finished(let outcome)): finished(.file(outcome), at: now)
        case (.finish, .responded(let response)):
            finished(.response(response, length: received, isEarly: false), at: now)
        case (.restore, .restored(let length)):
            needsRestore = false
            isOpen = true
            received = length
            acknowledged = length
        case (.restore, .finished(let outcome)):
            needsRestore = false
            phase = .completed(.file(outcome))
            received = outcome.length
            acknowledged = received
        case (.release, _): isOpen = false
        case (.remove, _): removed(at: now)
        case (.finish, _), (.restore, _): break
        }
        advance(at: now)
    }

    private mutating func finished(_ end: UploadEnd, at now: UploadInstant) {
        if phase != .condemned { phase = .completed(end) }
        acknowledged = received
        isOpen = false
        respondToTransfer(with: end, at: now)
        if !isDurable, phase != .removed { phase = .condemned }
    }

    private mutating func respondToTransfer(with end: UploadEnd, at now: UploadInstant) {
        guard let transfer else { return }
        self.end(finalResponse(end, in: transfer.dialect ?? record.dialect, isFlagged: isDurable), at: now)
    }

    /// The handler responded before all content arrived, which ends the upload.
    mutating func respondedEarly(_ response: UploadResponse, at now: UploadInstant) {
        guard phase == .creating || phase == .receiving else { return }
        let end = UploadEnd.response(response, length: received, isEarly: true)
        phase = .completed(end)
        acknowledged = received
        remainingContent = nil
        transfer?.pending = nil
        respondToTransfer(with: end, at: now)
        advance(at: now)
    }

    private mutating func removed(at now: UploadInstant) {
        phase = .removed
        if let (id, request) = nextRequest {
            nextRequest = nil
            let isDone = request.method == .delete
            actions.append(.respond(id, isDone ? UploadResponse(204) : gone(request.dialect)))
        }
        if transfer != nil { end(gone(transfer?.dialect), at: now) }
    }

    private mutating func failed(
        _ command: UploadStoreCommand,
        _ failure: UploadStoreFailure,
        at now: UploadInstant
    ) {
        if failure == .lost || command == .remove {
            // If removal fails, the upload is unreachable in this run and expires after the next start.
            if command == .remove { return removed(at: now) }
            phase = .condemned
            return advance(at: now)
        }
        if case .create = command { phase = .condemned }
        if !isDurable { phase = .condemned }
        needsRestore = true
        // A failed command may have opened the files.
        isOpen = true
        // Bytes that aren't durable are discarded: the store returns to its last checkpoint.
        received = acknowledged
        let response = UploadResponse.failure(failure)
        if let transfer { end(flagged(response, in: transfer.dialect), at: now) }
        if command == .restore, let (id, request) = nextRequest {
            nextRequest = nil
            actions.append(.respond(id, flagged(response, in: request.dialect ?? record.dialect)))
        }
        advance(at: now)
    }
}
