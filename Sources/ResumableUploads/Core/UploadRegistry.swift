import HTTPTypes
import TransferProtocol

/// An upload that was recovered at startup.
package struct RecoveredUpload: Hashable, Sendable {
    /// The progress of an upload.
    package enum State: Hashable, Sendable {
        /// This many bytes are durable.
        case receiving(length: Int64)
        /// It has ended.
        case completed(UploadOutcome)
    }

    /// The token of the upload.
    package var token: UploadToken
    /// The metadata from its creation.
    package var record: UploadRecord
    /// Its progress.
    package var state: State
}

/// The state machine of all uploads of a server: consumes events and returns actions, without side effects.
///
/// Supports the interop versions of `UploadWireFormat` (draft-ietf-httpbis-resumable-upload). A request without a
/// supported version is a plain upload: its content is stored but can't be resumed. The executor performs the actions
/// in order and feeds back the result of each store command.
package struct UploadRegistry: Sendable {
    /// An event.
    package enum Event: Sendable {
        /// The head of a request arrived. `token` is a fresh one, for an upload that the request may create.
        case request(UploadRequestID, UploadRequestHead, token: UploadToken)
        /// Part of the content requested by `receive`.
        case content(UploadRequestID, [UInt8])
        /// The content of a request is complete.
        case contentEnded(UploadRequestID)
        /// The connection of a request was lost, or its content is invalid.
        case disconnected(UploadRequestID)
        /// The store completed a command for an upload.
        case stored(UploadToken, UploadStoreResult)
        /// The upload's handler responded before all content arrived.
        case responded(UploadToken, UploadResponse)
        /// Time has passed: expired uploads are removed.
        case tick
    }

    private let policy: UploadPolicy
    private let location: @Sendable (UploadToken) -> String
    private var uploads: [UploadToken: UploadStateMachine] = [:]
    /// The uploads of current requests.
    private var owners: [UploadRequestID: UploadToken] = [:]
    /// The uploads that the last event marked for removal during a store command.
    private(set) var abandoned: [UploadToken] = []

    /// Makes the registry with the recovered uploads. `location` returns the path of an upload's URL.
    package init(
        policy: UploadPolicy,
        recovered: [RecoveredUpload],
        now: UploadInstant,
        location: @escaping @Sendable (UploadToken) -> String
    ) {
        self.policy = policy
        self.location = location
        for upload in recovered {
            uploads[upload.token] = UploadStateMachine(
                token: upload.token,
                location: location(upload.token),
                recovered: upload,
                policy: policy,
                now: now
            )
        }
    }

    /// The number of uploads.
    package var count: Int { uploads.count }

    /// The upload of a current request.
    func upload(of id: UploadRequestID) -> UploadToken? { owners[id] }

    /// Whether an upload exists.
    func keeps(_ token: UploadToken) -> Bool { uploads[token] != nil }

    /// Handles an event and returns the resulting actions.
    package mutating func handle(_ event: Event, at now: UploadInstant) -> [UploadServerAction] {
        abandoned = []
        switch event {
        case .request(let id, let request, let token):
            switch request.resource {
            case .target(let target):
                return create(id, request, target, token, at: now)
            case .upload(let token):
                return requestArrived(id, request, token, at: now)
            }
        case .content(let id, let bytes):
            return change(owners[id], at: now) { $0.contentArrived(id, bytes, at: now) }
        case .contentEnded(let id):
            return change(owners[id], at: now) { $0.contentEnded(id, at: now) }
        case .disconnected(let id):
            defer { owners[id] = nil }
            return change(owners[id], at: now) { $0.requestDisconnected(id, at: now) }
        case .stored(let token, let result):
            return change(token, at: now) { $0.stored(result, at: now) }
        case .responded(let token, let response):
            return change(token, at: now) { $0.respondedEarly(response, at: now) }
        case .tick:
            return uploads.filter { hasExpired($0.value, now) }.keys
                .sorted { $0.description < $1.description }
                .flatMap { token in change(token, at: now) { $0.expired(at: now) } }
        }
    }

    private mutating func change(
        _ token: UploadToken?,
        at now: UploadInstant,
        _ body: (inout UploadStateMachine) -> Void
    ) -> [UploadServerAction] {
        guard let token, var upload = uploads.removeValue(forKey: token) else { return [] }
        let wasAbandoned = upload.isAbandoned
        body(&upload)
        if upload.isAbandoned, !wasAbandoned { abandoned.append(token) }
        let actions = upload.actions
        upload.actions = []
        for case .respond(let id, _) in actions { owners[id] = nil }
        for case .close(let id) in actions { owners[id] = nil }
        if !upload.isRemoved { uploads[token] = upload }
        return actions
    }

    private mutating func requestArrived(
        _ id: UploadRequestID,
        _ request: UploadRequestHead,
        _ token: UploadToken,
        at now: UploadInstant
    ) -> [UploadServerAction] {
        guard let upload = uploads[token], upload.expiry > now.wall, upload.isDurable, upload.phase != .creating else {
            let expiry = change(token, at: now) { upload in
                if upload.isDurable, upload.phase != .creating { upload.expired(at: now) }
            }
            return expiry + [.respond(id, Self.gone(request.dialect))]
        }
        if request.method == .options { return [.respond(id, options(request, "HEAD, GET, PATCH, DELETE, OPTIONS"))] }
        owners[id] = token
        return change(token, at: now) { $0.requestArrived(id, request, at: now) }
    }

    private mutating func create(
        _ id: UploadRequestID,
        _ request: UploadRequestHead,
        _ target: UploadTarget,
        _ token: UploadToken,
        at now: UploadInstant
    ) -> [UploadServerAction] {
        if request.method == .options {
            return [.respond(id, options(request, "GET, HEAD, OPTIONS, PUT, POST"))]
        }
        let dialect = request.dialect
        let completes = dialect == nil || request.fields.isComplete ?? true
        let length = request.fields.length ?? (completes ? request.contentLength : nil)
        if let refusal = refusal(of: request, completes, length) { return [.respond(id, refusal)] }
        let (removals, wait) = makeRoom(at: now)
        if let wait {
            let busy = UploadResponse.message(503, "There are too many unfinished uploads; try again later.")
            return removals + [.respond(id, busy.with(.retryAfter, String(wait)))]
        }
        let record = UploadRecord(
            target: target,
            dialect: dialect,
            length: length,
            digest: request.digest,
            isOnlyNew: request.isOnlyNew,
            ifMatch: request.ifMatch,
            created: now.wall
        )
        uploads[token] = UploadStateMachine(
            token: token,
            location: location(token),
            record: record,
            id: id,
            completes: completes,
            contentDigest: request.contentDigest,
            policy: policy,
            now: now
        )
        owners[id] = token
        return removals + change(token, at: now) { $0.advance(at: now) }
    }

    /// Removes expired uploads, then the outcomes that were used longest ago, until another upload fits.
    ///
    /// - Returns: The actions, and the seconds until there is room; `nil` if there is.
    private mutating func makeRoom(at now: UploadInstant) -> (removals: [UploadServerAction], wait: Int64?) {
        guard uploads.count >= policy.maximumUploads else { return ([], nil) }
        var keptCount = 0
        var expired: [UploadToken] = []
        // Uploads that were recovered together are ordered by their creation.
        var outcomes: [(token: UploadToken, lastUse: Duration, created: Int64)] = []
        for (token, upload) in uploads where upload.phase != .condemned {
            keptCount += 1
            if hasExpired(upload, now) {
                expired.append(token)
            } else if upload.hasEnded, !upload.isBusy {
                outcomes.append((token, upload.lastUse.elapsed, upload.record.created))
            }
        }
        let excess = keptCount - expired.count - policy.maximumUploads + 1
        if excess == 1, let oldest = outcomes.min(by: { ($0.lastUse, $0.created) < ($1.lastUse, $1.created) }) {
            outcomes = [oldest]
        } else {
            outcomes.sort { ($0.lastUse, $0.created) < ($1.lastUse, $1.created) }
            outcomes = Array(outcomes.prefix(max(0, excess)))
        }
        let tokens = expired + outcomes.map(\.token)
        let removals = tokens.flatMap { token in change(token, at: now) { $0.expired(at: now) } }
        guard keptCount - tokens.count < policy.maximumUploads else { return (removals, waitForExpiry(at: now)) }
        // A slow disk may still be removing others.
        return (removals, uploads.count < 2 * policy.maximumUploads ? nil : 1)
    }

    private func hasExpired(_ upload: UploadStateMachine, _ now: UploadInstant) -> Bool {
        !upload.isBusy && upload.expiry <= now.wall || upload.lifetimeEnd <= now.wall
    }

    /// The seconds until the first upload expires; a minute at most while clients are sending: what they finish makes room.
    private func waitForExpiry(at now: UploadInstant) -> Int64 {
        let kept = uploads.values.filter { $0.phase != .condemned }
        let expiry = kept.map { $0.isBusy ? $0.lifetimeEnd : $0.expiry }.min() ?? now.wall
        let wait = max(1, expiry - now.wall)
        return kept.contains { $0.isBusy } ? min(wait, Self.busyWait) : wait
    }

    /// How long a client waits while others are sending, in seconds.
    private static let busyWait: Int64 = 60

    /// The response that refuses a creation before its content is read; `nil` if it is accepted.
    private func refusal(of request: UploadRequestHead, _ completes: Bool, _ length: Int64?) -> UploadResponse? {
        let dialect = request.dialect
        func limited(_ status: Int, _ sentence: String) -> UploadResponse {
            let response = UploadResponse.message(status, sentence)
            guard let dialect else { return response }
            return response.with(UploadFields(isComplete: false, limits: policy.limits(age: 0)), in: dialect)
        }
        if let refusal = request.refusal(by: policy) { return refusal }
        guard dialect != nil || !request.isPartial else {
            return .message(400, "This version of resumable uploads is not supported.").naming(.newest)
        }
        if let dialect, let named = request.fields.length, let count = request.contentLength,
            completes ? named != count : named < count
        {
            return UploadResponse.problem(.inconsistentLength, in: dialect)
                .with(UploadFields(isComplete: false), in: dialect)
        }
        if let length, length < policy.minimumSize { return limited(400, "The file is smaller than min-size.") }
        if max(length ?? 0, request.contentLength ?? 0) > policy.maximumSize {
            return limited(413, "The file is larger than max-size.")
        }
        if dialect != nil, let most = policy.maximumAppendSize, (request.contentLength ?? 0) > most {
            return limited(413, "The content is larger than max-append-size.")
        }
        return nil
    }

    /// The response to OPTIONS: 200, because some clients accept no other success.
    private func options(_ request: UploadRequestHead, _ methods: String) -> UploadResponse {
        let dialect = request.dialect ?? .newest
        let limits = UploadFields(limits: policy.limits(age: 0))
        return UploadResponse(200, [.allow: methods, .acceptPatch: UploadWireRules.partialUpload])
            .with(limits, in: dialect.rules.hasLimits ? dialect : .newest)
    }

    /// The response for a missing upload.
    static func gone(_ dialect: UploadWireFormat?) -> UploadResponse {
        let dialect = dialect ?? .newest
        return UploadResponse.message(404, "There is no such upload.")
            .with(UploadFields(isComplete: false), in: dialect)
    }
}
