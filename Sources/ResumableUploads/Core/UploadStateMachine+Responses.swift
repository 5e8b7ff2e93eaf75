import HTTPTypes
import TransferProtocol

extension UploadStateMachine {
    /// Announces the upload URL as soon as the upload would survive a crash.
    mutating func announce(at now: UploadInstant) {
        guard let transfer, let dialect = transfer.dialect, phase == .receiving else { return }
        let response = UploadResponse.interim(UploadFields(limits: limits(at: now)), in: dialect)
        actions.append(.interim(transfer.id, response.with(.location, location)))
        self.transfer?.interimResponses += 1
        self.transfer?.lastInterimResponse = now.elapsed
    }

    mutating func reportProgress(at now: UploadInstant) {
        guard let transfer, let dialect = transfer.dialect, dialect.rules.hasProgressResponses, !transfer.hasEnded,
            transfer.interimResponses < policy.maximumProgressResponses
        else { return }
        let doublings = max(0, transfer.interimResponses - 30)
        guard now.elapsed - transfer.lastInterimResponse >= policy.progressInterval * (1 << doublings) else { return }
        // The content has extended the life of the upload, which the limits tell.
        let fields = UploadFields(offset: acknowledged, limits: limits(at: now))
        actions.append(.interim(transfer.id, .interim(fields, in: dialect)))
        self.transfer?.interimResponses += 1
        self.transfer?.lastInterimResponse = now.elapsed
    }

    /// The response to HEAD. All received bytes are durable.
    func offset(in dialect: UploadWireFormat, at now: UploadInstant) -> UploadResponse {
        let fields = UploadFields(
            isComplete: hasEnded,
            offset: acknowledged,
            length: record.length,
            limits: limits(at: now)
        )
        return UploadResponse(204, [.cacheControl: "no-store"]).with(fields, in: dialect)
    }

    /// The limits of the upload.
    private func limits(at now: UploadInstant) -> UploadLimits { policy.limits(age: now.wall - record.created) }

    /// The response to an append at a wrong offset.
    func mismatch(_ offset: Int64, in dialect: UploadWireFormat) -> UploadResponse {
        // A 409 is flagged as incomplete even for a complete upload: it is the upload resource's response, not the
        // target's.
        UploadResponse.problem(.mismatchingOffset(expected: acknowledged, provided: offset), in: dialect)
            .with(UploadFields(isComplete: false, offset: acknowledged), in: dialect)
    }

    /// The response to content that doesn't complete the upload.
    func incompleteResponse(to transfer: Transfer, at now: UploadInstant) -> UploadResponse {
        let dialect = transfer.dialect ?? record.dialect ?? .newest
        var fields = UploadFields(isComplete: false, offset: acknowledged)
        guard transfer.isCreation else {
            return UploadResponse(dialect.rules.incompleteAppendStatus).with(fields, in: dialect)
        }
        fields.limits = limits(at: now)
        return UploadResponse(UploadWireRules.incompleteCreationStatus, [.location: location])
            .with(fields, in: dialect)
    }

    /// The target's response.
    func finalResponse(_ end: UploadEnd, in dialect: UploadWireFormat?, isFlagged: Bool) -> UploadResponse {
        let response =
            switch end {
            case .response(let response, _, _): response
            case .file(let outcome): UploadResponse.outcome(outcome, of: record.target)
            }
        guard isFlagged, let dialect else { return response }
        return response.with(UploadFields(isComplete: true, offset: end.length), in: dialect)
    }

    /// The response to content that doesn't match its `Content-Digest`.
    func wrongContent(in transfer: Transfer) -> UploadResponse {
        let response = UploadResponse.message(400, "The content does not have the digest of Content-Digest.")
        guard isDurable, let dialect = transfer.dialect ?? record.dialect else { return response }
        return response.with(UploadFields(isComplete: false, offset: acknowledged), in: dialect)
    }

    /// The response to contradicting lengths.
    func inconsistentLength(in dialect: UploadWireFormat) -> UploadResponse {
        UploadResponse.problem(.inconsistentLength, in: dialect)
            .with(UploadFields(isComplete: false, offset: acknowledged), in: dialect)
    }

    /// The same, in the dialect of the current transfer.
    func inconsistentLength(at now: UploadInstant) -> UploadResponse {
        guard let dialect = transfer?.dialect ?? record.dialect else {
            return .message(400, "There is less content than announced.")
        }
        return inconsistentLength(in: dialect)
    }

    /// The response to a violated limit, with the limits.
    func limited(
        _ status: Int,
        _ sentence: String,
        in dialect: UploadWireFormat?,
        at now: UploadInstant
    ) -> UploadResponse {
        let response = UploadResponse.message(status, sentence)
        guard let dialect else { return response }
        return response.with(UploadFields(isComplete: false, limits: limits(at: now)), in: dialect)
    }

    func limited(_ status: Int, _ sentence: String, at now: UploadInstant) -> UploadResponse {
        limited(status, sentence, in: transfer?.dialect ?? record.dialect, at: now)
    }

    /// Flags a response as incomplete.
    func flagged(_ response: UploadResponse, in dialect: UploadWireFormat?) -> UploadResponse {
        guard isDurable, let dialect else { return response }
        return response.with(UploadFields(isComplete: false), in: dialect)
    }

    /// The response for an upload that no longer exists.
    func gone(_ dialect: UploadWireFormat?) -> UploadResponse { UploadRegistry.gone(dialect ?? record.dialect) }
}
