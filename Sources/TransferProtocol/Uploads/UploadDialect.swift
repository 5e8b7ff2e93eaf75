import HTTPTypes

/// An interop version of the resumable upload drafts (draft-ietf-httpbis-resumable-upload).
///
/// `rules` is the only place that knows how the versions differ; nothing else compares versions.
public enum UploadDialect: Int, CaseIterable, Hashable, Sendable {
    /// Draft 01.
    case v3 = 3
    /// Draft 03.
    case v5 = 5
    /// Drafts 04 and 05.
    case v6 = 6
    /// Drafts 09 to 11.
    case v8 = 8
    /// Draft 12.
    case v9 = 9
    /// Draft 13.
    case v10 = 10

    /// The dialect that a client offers first.
    public static let newest = UploadDialect.v10

    /// The value of `Upload-Draft-Interop-Version`.
    public var interopVersion: Int64 { Int64(rawValue) }

    /// The dialect of an interop version; `nil` for a version that isn't spoken here.
    public init?(interopVersion: Int64) {
        guard let number = Int(exactly: interopVersion) else { return nil }
        self.init(rawValue: number)
    }

    /// The differences of this version from the others.
    public var rules: UploadDialectRules {
        switch self {
        case .v3: .v3
        case .v5: .v5
        case .v6: .v6
        case .v8: .v8
        case .v9: .v9
        case .v10: .v10
        }
    }
}

/// The row of one interop version in the table of differences.
public struct UploadDialectRules: Hashable, Sendable {
    /// The field that says whether a message completes the upload.
    public enum CompletionFlag: Hashable, Sendable {
        /// `Upload-Complete`: true when nothing follows.
        case complete
        /// `Upload-Incomplete`: true when more follows.
        case incomplete

        /// The name of the field.
        public var fieldName: HTTPField.Name {
            switch self {
            case .complete: .uploadComplete
            case .incomplete: .uploadIncomplete
            }
        }

        /// The value of the field for a message that completes the upload, or doesn't.
        public func value(isComplete: Bool) -> Bool {
            switch self {
            case .complete: isComplete
            case .incomplete: !isComplete
            }
        }
    }

    /// The server's reaction to a PATCH of an upload that is complete.
    public enum CompletedAppend: Hashable, Sendable {
        /// The draft says nothing; the offset doesn't match, unless it is the length.
        case unspecified
        /// 400 with the problem type `#completed-upload`.
        case refuseAsCompleted
        /// The final response again when the request is consistent with the upload; else a refusal.
        case replayOrRefuse
    }

    /// The field that says whether a message completes the upload.
    public var flag: CompletionFlag
    /// Whether a PATCH must carry the flag; without this rule an absent flag ends the upload.
    public var isFlagRequiredOnAppend: Bool
    /// The media type that a PATCH must have; `nil` when any will do.
    public var appendMediaType: String?
    /// Whether 104 responses with `Upload-Offset` report progress.
    public var hasProgressResponses: Bool
    /// The member of `Upload-Limit` for the seconds that an upload lives; `nil` when there is no `Upload-Limit`.
    public var lifetimeLimit: String?
    /// Whether `OPTIONS` tells the limits.
    public var hasLimitDiscovery: Bool
    /// Whether `Upload-Length` announces the length of the representation.
    public var hasLengthField: Bool
    /// Whether responses to a creation or an append carry `Upload-Offset`.
    public var responsesCarryOffset: Bool
    /// The status of a response to an append that leaves the upload incomplete.
    public var incompleteAppendStatus: Int
    /// Whether the text has the response to an append that leaves the upload incomplete say that it is complete. Servers say
    /// the truth, so the flag of such a response tells nothing.
    public var isIncompleteAppendFlaggedComplete: Bool
    /// Whether a response without the flag is the target resource's, rather than one about the upload itself.
    public var isUnflaggedResponseFinal: Bool
    /// The statuses of a good answer to `HEAD`; the first is the one to send.
    public var offsetStatuses: [Int]
    /// Whether `GET` is answered as `HEAD` is.
    public var toleratesGet: Bool
    /// Whether `HEAD` and `DELETE` with a flag, an offset or a length are refused with 400.
    public var refusesFieldsOnHead: Bool
    /// Whether 409 and 400 explain themselves with problem details.
    public var hasProblemDetails: Bool
    /// Whether a length that contradicts another is 400 with the problem type `#inconsistent-upload-length`.
    public var hasInconsistentLengthProblem: Bool
    /// Whether a 409 must say that the upload isn't complete.
    public var conflictCarriesFlag: Bool
    /// The server's reaction to a PATCH of an upload that is complete.
    public var completedAppend: CompletedAppend
    /// The statuses for an upload that isn't there; the first is the one to send.
    public var goneStatuses: [Int]

    /// The status of a response to a creation that leaves the upload incomplete.
    public static let incompleteCreationStatus = 201
    /// The status of an informational response about an upload.
    public static let informationalStatus = 104
    /// The media type of a PATCH since version 6.
    public static let partialUpload = "application/partial-upload"

    /// Whether there is an `Upload-Limit`.
    public var hasLimits: Bool { lifetimeLimit != nil }
}

extension UploadDialectRules {
    static let v3 = UploadDialectRules(
        flag: .incomplete,
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
        offsetStatuses: [204],
        toleratesGet: false,
        refusesFieldsOnHead: true,
        hasProblemDetails: false,
        hasInconsistentLengthProblem: false,
        conflictCarriesFlag: false,
        completedAppend: .unspecified,
        goneStatuses: [404]
    )

    static let v5 = v3.with { rules in
        rules.flag = .complete
        rules.hasProgressResponses = true
        rules.isIncompleteAppendFlaggedComplete = true
        rules.offsetStatuses = [204, 200]
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
        rules.offsetStatuses = [204] + (200..<300).filter { $0 != 204 }
        rules.refusesFieldsOnHead = false
        rules.hasInconsistentLengthProblem = true
        rules.goneStatuses = [404, 410]
    }

    static let v9 = v8.with { rules in
        rules.toleratesGet = true
        rules.conflictCarriesFlag = true
        rules.completedAppend = .replayOrRefuse
    }

    /// Version 10 demands less of answers to `HEAD`; a server that sends everything speaks both.
    static let v10 = v9

    private func with(_ change: (inout UploadDialectRules) -> Void) -> UploadDialectRules {
        var rules = self
        change(&rules)
        return rules
    }
}
