import HTTPTypes

/// One format's row in the table of differences.
public struct UploadWireRules: Hashable, Sendable {
    /// The server's reaction to a PATCH of a complete upload.
    public enum CompletedAppend: Hashable, Sendable {
        /// Unspecified; the offset doesn't match, unless it is the length.
        case unspecified
        /// 400 with the problem type `#completed-upload`.
        case refuseAsCompleted
        /// The final response again if the request is consistent with the upload; else a refusal.
        case replayOrRefuse
    }

    /// Whether `Upload-Incomplete`, true when more follows, says what `Upload-Complete` says elsewhere.
    public var isFlagInverted: Bool
    /// Whether a PATCH must carry the flag; otherwise an absent flag completes the upload.
    public var isFlagRequiredOnAppend: Bool
    /// The required media type of a PATCH; `nil` for any.
    public var appendMediaType: String?
    /// Whether 104 responses report progress in `Upload-Offset`.
    public var hasProgressResponses: Bool
    /// The `Upload-Limit` member with the upload's lifetime in seconds; `nil` without `Upload-Limit`.
    public var lifetimeLimit: String?
    /// Whether `OPTIONS` returns the limits.
    public var hasLimitDiscovery: Bool
    /// Whether `Upload-Length` announces the length of the representation.
    public var hasLengthField: Bool
    /// Whether responses to a creation or an append carry `Upload-Offset`.
    public var responsesCarryOffset: Bool
    /// The status of a response to an append that doesn't complete the upload.
    public var incompleteAppendStatus: Int
    /// Whether the draft flags responses to incomplete appends as complete. Servers send the correct flag, so it is
    /// ignored there.
    public var isIncompleteAppendFlaggedComplete: Bool
    /// Whether an unflagged response is the target resource's rather than the upload resource's.
    public var isUnflaggedResponseFinal: Bool
    /// Whether `HEAD` and `DELETE` with a flag, offset or length get 400.
    public var refusesFieldsOnHead: Bool
    /// Whether 409 and 400 have problem details.
    public var hasProblemDetails: Bool
    /// Whether a 409 must be flagged as incomplete.
    public var conflictCarriesFlag: Bool
    /// The server's reaction to a PATCH of a complete upload.
    public var completedAppend: CompletedAppend
    /// The status of a response to a creation that doesn't complete the upload.
    public static let incompleteCreationStatus = 201
    /// The status of an interim response about an upload.
    public static let interimStatus = 104
    /// The media type of a PATCH since version 6.
    public static let partialUpload = "application/partial-upload"

    /// The field that says whether a message completes the upload.
    public var flagName: HTTPField.Name { isFlagInverted ? .uploadIncomplete : .uploadComplete }
    /// Whether there is an `Upload-Limit`.
    public var hasLimits: Bool { lifetimeLimit != nil }
}

extension UploadWireRules {
    static let v3 = UploadWireRules(
        isFlagInverted: true,
        isFlagRequiredOnAppend: false,
        appendMediaType: nil,
        hasProgressResponses: false,
        lifetimeLimit: nil,
        hasLimitDiscovery: false,
        hasLengthField: false,
        responsesCarryOffset: true,
        incompleteAppendStatus: 201,
        isIncompleteAppendFlaggedComplete: false,
        isUnflaggedResponseFinal: true,
        refusesFieldsOnHead: true,
        hasProblemDetails: false,
        conflictCarriesFlag: false,
        completedAppend: .unspecified
    )

    static let v5 = v3.with { rules in
        rules.isFlagInverted = false
        rules.hasProgressResponses = true
        rules.isIncompleteAppendFlaggedComplete = true
    }

    static let v6 = v5.with { rules in
        rules.appendMediaType = partialUpload
        rules.lifetimeLimit = "expires"
        rules.hasLimitDiscovery = true
        rules.hasLengthField = true
        rules.hasProblemDetails = true
        rules.completedAppend = .refuseAsCompleted
    }

    static let v8 = v6.with { rules in
        rules.isFlagRequiredOnAppend = true
        rules.lifetimeLimit = "max-age"
        rules.responsesCarryOffset = false
        rules.incompleteAppendStatus = 204
        rules.isIncompleteAppendFlaggedComplete = false
        rules.isUnflaggedResponseFinal = false
        rules.refusesFieldsOnHead = false
    }

    static let v9 = v8.with { rules in
        rules.conflictCarriesFlag = true
        rules.completedAppend = .replayOrRefuse
    }

    /// Version 10 requires less of responses to `HEAD`; a server that sends everything supports both.
    static let v10 = v9

    private func with(_ change: (inout UploadWireRules) -> Void) -> UploadWireRules {
        var rules = self
        change(&rules)
        return rules
    }
}
