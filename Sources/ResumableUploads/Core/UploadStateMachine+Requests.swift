import HTTPTypes
import TransferProtocol

extension UploadStateMachine {
    /// Responds to a request for the upload, or starts receiving its content. All received bytes are durable.
    mutating func serve(_ id: UploadRequestID, _ request: UploadRequestHead, at now: UploadInstant) {
        let dialect = request.dialect ?? record.dialect ?? .newest
        let rules = dialect.rules
        switch request.method {
        case .head, .get:
            if rules.refusesFieldsOnHead, request.hasUploadFields {
                respond(id, .message(400, "This request takes no upload fields."), at: now)
            } else if case .completed(let end) = phase, !end.isSuccess, rules.completedAppend != .replayOrRefuse {
                // A client that can't ask for the lost response takes a complete upload for an accepted one.
                respond(id, gone(dialect), at: now)
            } else {
                respond(id, offset(in: dialect, at: now), at: now)
            }
        case .delete:
            if !removes(request) {
                respond(id, .message(400, "This request takes no upload fields."), at: now)
            } else {
                phase = .condemned
                nextRequest = (id, request)
                advance(at: now)
            }
        case .patch:
            append(id, request, dialect, at: now)
        default:
            let allow = "HEAD, GET, PATCH, DELETE, OPTIONS"
            respond(id, UploadResponse.message(405, "An upload takes \(allow).").with(.allow, allow), at: now)
        }
    }

    /// Whether a request is a valid DELETE in its dialect.
    func removes(_ request: UploadRequestHead) -> Bool {
        let rules = (request.dialect ?? record.dialect ?? .newest).rules
        return request.method == .delete && !(rules.refusesFieldsOnHead && request.hasUploadFields)
    }

    private mutating func respond(_ id: UploadRequestID, _ response: UploadResponse, at now: UploadInstant) {
        actions.append(.respond(id, response))
        advance(at: now)
    }

    private mutating func append(
        _ id: UploadRequestID,
        _ request: UploadRequestHead,
        _ dialect: UploadWireFormat,
        at now: UploadInstant
    ) {
        func refuse(_ refusal: UploadResponse) { respond(id, flagged(refusal, in: dialect), at: now) }
        let rules = dialect.rules
        if let refusal = request.refusal(by: policy) { return refuse(refusal) }
        // Without the field the flag of another version isn't read, and the part would end the upload.
        if request.dialect == nil, request.isPartial, request.fields.isComplete == nil {
            return refuse(.message(400, "Upload-Draft-Interop-Version is missing."))
        }
        if let type = rules.appendMediaType, request.contentType != type {
            return refuse(.message(415, "The content must be \(type).").with(.acceptPatch, type))
        }
        guard let offset = request.fields.offset else { return refuse(.message(400, "Upload-Offset is missing.")) }
        guard request.fields.isComplete != nil || !rules.isFlagRequiredOnAppend else {
            return refuse(.message(400, "Upload-Complete is missing."))
        }
        let completes = request.fields.isComplete ?? true
        if case .completed(let end) = phase {
            return respond(id, repeated(end, request, offset, completes, in: dialect), at: now)
        }
        guard offset == received else { return respond(id, mismatch(offset, in: dialect), at: now) }
        if let refusal = refusal(of: request, completes, in: dialect, at: now) {
            return respond(id, refusal, at: now)
        }
        if let digest = request.digest {
            if let known = record.digest, known != digest {
                return refuse(.message(400, "Repr-Digest is not that of the creation."))
            }
            record.digest = digest
        }
        if record.length == nil {
            record.length = request.fields.length
            if completes, let count = request.contentLength { record.length = received + count }
        }
        transfer = Transfer(
            id: id,
            dialect: request.dialect ?? record.dialect,
            isCreation: false,
            completes: completes,
            check: ContentCheck(request.contentDigest, policy),
            lastInterimResponse: now.elapsed
        )
        lastCheckpoint = now.elapsed
        advance(at: now)
    }

    /// The response that refuses an append because of its length. An append beyond the known length invalidates the
    /// upload.
    private mutating func refusal(
        of request: UploadRequestHead,
        _ completes: Bool,
        in dialect: UploadWireFormat,
        at now: UploadInstant
    ) -> UploadResponse? {
        if let known = record.length, let named = request.fields.length, known != named {
            return inconsistentLength(in: dialect)
        }
        let length = record.length ?? request.fields.length
        // Client-supplied lengths are never added to: they may be as large as the type allows.
        if let count = request.contentLength {
            if count > policy.maximumSize - received {
                return limited(413, "The file is larger than max-size.", in: dialect, at: now)
            }
            if let length, count > length - received {
                phase = .condemned
                return inconsistentLength(in: dialect)
            }
            if let length, completes, count != length - received { return inconsistentLength(in: dialect) }
            if let most = policy.maximumAppendSize, count > most {
                return limited(413, "The content is larger than max-append-size.", in: dialect, at: now)
            }
        }
        if let length, length > policy.maximumSize {
            return limited(413, "The file is larger than max-size.", in: dialect, at: now)
        }
        if let length, length < received { return inconsistentLength(in: dialect) }
        return nil
    }

    /// The response that refuses `count` more content bytes, regardless of the declared length.
    mutating func refusal(of count: Int, in transfer: Transfer, at now: UploadInstant) -> UploadResponse? {
        let dialect = transfer.dialect ?? record.dialect
        if let length = record.length, Int64(count) > length - received {
            phase = .condemned
            return dialect.map { inconsistentLength(in: $0) } ?? .message(400, "There is more content than announced.")
        }
        guard Int64(count) <= policy.maximumSize - received else {
            return limited(413, "The file is larger than max-size.", in: dialect, at: now)
        }
        if let most = policy.maximumAppendSize, isDurable, Int64(count) > most - transfer.received {
            return limited(413, "The content is larger than max-append-size.", in: dialect, at: now)
        }
        return nil
    }

    /// The response to an append to a complete upload: the outcome again if the request is consistent with it.
    private func repeated(
        _ end: UploadEnd,
        _ request: UploadRequestHead,
        _ offset: Int64,
        _ completes: Bool,
        in dialect: UploadWireFormat
    ) -> UploadResponse {
        // After an early response the client still has content to send; it gets the same response again.
        if case .response(_, _, isEarly: true) = end { return finalResponse(end, in: dialect, isFlagged: true) }
        let hasRightLength = request.fields.length.map { $0 == end.length } ?? true
        if offset == end.length, completes, hasRightLength, (request.contentLength ?? 0) == 0 {
            return finalResponse(end, in: dialect, isFlagged: true)
        }
        switch dialect.rules.completedAppend {
        case .refuseAsCompleted:
            let fields = UploadFields(isComplete: true, offset: end.length)
            return UploadResponse.problem(.completedUpload, in: dialect).with(fields, in: dialect)
        case .unspecified, .replayOrRefuse:
            return mismatch(offset, in: dialect)
        }
    }
}
