import HTTPTypes

/// An interop version of the resumable upload drafts (draft-ietf-httpbis-resumable-upload).
///
/// All differences between versions are in `rules`; nothing else compares versions.
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

    /// The dialect that clients offer first.
    public static let newest = UploadDialect.v10

    /// The value of `Upload-Draft-Interop-Version`.
    public var interopVersion: Int64 { Int64(rawValue) }

    /// The dialect of an interop version; `nil` if unsupported.
    public init?(interopVersion: Int64) {
        guard let number = Int(exactly: interopVersion) else { return nil }
        self.init(rawValue: number)
    }

    /// The name in journals, which doesn't change.
    public var name: String { Self.name(ofVersion: interopVersion) }

    /// The dialect of a name in a journal; `nil` if unsupported.
    public init?(name: String) {
        guard let dialect = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = dialect
    }

    static func name(ofVersion version: Int64) -> String { "resumable-upload-\(version)" }

    /// The rules of this version.
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

/// One version's row in the table of differences.
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

    /// The server's reaction to a PATCH of a complete upload.
    public enum CompletedAppend: Hashable, Sendable {
        /// Unspecified; the offset doesn't match, unless it is the length.
        case unspecified
        /// 400 with the problem type `#completed-upload`.
        case refuseAsCompleted
        /// The final response again if the request is consistent with the upload; else a refusal.
        case replayOrRefuse
    }

    /// The field that says whether a message completes the upload.
    public var flag: CompletionFlag
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
    /// The success statuses of `HEAD`; the first is the one to send.
    public var offsetStatuses: [Int]
    /// Whether `GET` is treated like `HEAD`.
    public var toleratesGet: Bool
    /// Whether `HEAD` and `DELETE` with a flag, offset or length get 400.
    public var refusesFieldsOnHead: Bool
    /// Whether 409 and 400 have problem details.
    public var hasProblemDetails: Bool
    /// Whether a contradicting length gets 400 with the problem type `#inconsistent-upload-length`.
    public var hasInconsistentLengthProblem: Bool
    /// Whether a 409 must be flagged as incomplete.
    public var conflictCarriesFlag: Bool
    /// The server's reaction to a PATCH of a complete upload.
    public var completedAppend: CompletedAppend
    /// The statuses for a missing upload; the first is the one to send.
    public var goneStatuses: [Int]

    /// The status of a response to a creation that doesn't complete the upload.
    public static let incompleteCreationStatus = 201
    /// The status of an interim response about an upload.
    public static let interimStatus = 104
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

    /// Version 10 requires less of responses to `HEAD`; a server that sends everything supports both.
    static let v10 = v9

    private func with(_ change: (inout UploadDialectRules) -> Void) -> UploadDialectRules {
        var rules = self
        change(&rules)
        return rules
    }
}
