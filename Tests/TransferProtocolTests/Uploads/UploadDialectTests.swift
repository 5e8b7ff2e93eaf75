import HTTPTypes
import Testing
import TransferProtocol

@Suite struct UploadDialectTests {
    @Test(arguments: UploadDialect.allCases)
    func `a dialect is found by its interop version`(_ dialect: UploadDialect) {
        #expect(UploadDialect(interopVersion: dialect.interopVersion) == dialect)
        #expect(dialect.interopVersionValue == String(dialect.rawValue))
    }

    @Test(arguments: [0, 2, 4, 7, 11, -3, Int64.max] as [Int64])
    func `a version that isn't negotiated has no dialect`(_ version: Int64) {
        #expect(UploadDialect(interopVersion: version) == nil)
    }

    @Test func `the flag has another name and the inverse value in version 3`() {
        for dialect in UploadDialect.allCases {
            let isFirst = dialect == .v3
            let flag = dialect.rules.flag
            #expect(flag.fieldName == (isFirst ? .uploadIncomplete : .uploadComplete))
            #expect(flag.value(isComplete: true) == !isFirst)
            #expect(flag.value(isComplete: false) == isFirst)
        }
    }

    /// The rows of the table of differences, each with the first version that it applies to.
    @Test func `each difference begins with its version`() {
        let differences: [(String, since: UploadDialect, (UploadDialectRules) -> Bool)] = [
            ("progress", .v5, { $0.hasProgressResponses }),
            ("media type", .v6, { $0.appendMediaType == "application/partial-upload" }),
            ("limits", .v6, { $0.hasLimits && $0.hasLimitDiscovery }),
            ("length", .v6, { $0.hasLengthField }),
            ("problem details", .v6, { $0.hasProblemDetails }),
            ("flag on every append", .v8, { $0.isFlagRequiredOnAppend }),
            ("max-age", .v8, { $0.lifetimeLimit == "max-age" }),
            ("no offset in responses", .v8, { !$0.responsesCarryOffset }),
            ("204 for an append", .v8, { $0.incompleteAppendStatus == 204 }),
            ("final responses are flagged", .v8, { !$0.isUnflaggedResponseFinal }),
            ("any 2xx for HEAD", .v8, { $0.offsetStatuses.contains(299) }),
            ("410", .v8, { $0.goneStatuses.contains(410) }),
            ("fields on HEAD", .v8, { !$0.refusesFieldsOnHead }),
            ("inconsistent length", .v8, { $0.hasInconsistentLengthProblem }),
            ("GET", .v9, { $0.toleratesGet }),
            ("409 says incomplete", .v9, { $0.conflictCarriesFlag }),
            ("replay", .v9, { $0.completedAppend == .replayOrRefuse }),
        ]
        for (name, since, holds) in differences {
            for dialect in UploadDialect.allCases {
                #expect(holds(dialect.rules) == (dialect.rawValue >= since.rawValue), "\(name) in \(dialect)")
            }
        }
        #expect(UploadDialect.v6.rules.lifetimeLimit == "expires")
        let slips = UploadDialect.allCases.filter { $0.rules.isIncompleteAppendFlaggedComplete }
        #expect(slips == [.v5, .v6])
        #expect(UploadDialect.v8.rules.completedAppend == .refuseAsCompleted)
        #expect(UploadDialect.allCases.allSatisfy { $0.rules.offsetStatuses.first == 204 })
        #expect(UploadDialect.allCases.allSatisfy { $0.rules.goneStatuses.first == 404 })
    }
}
