import HTTPTypes
import Testing
import TransferProtocol

@Suite struct UploadDialectTests {
    @Test(arguments: UploadWireFormat.allCases)
    func `a dialect is found by its interop version`(_ dialect: UploadWireFormat) {
        #expect(UploadWireFormat(interopVersion: dialect.interopVersion) == dialect)
        #expect(dialect.rawValue == "resumable-upload-\(dialect.interopVersion)")
    }

    @Test(arguments: [0, 2, 4, 7, 11, -3, Int64.max] as [Int64])
    func `a version that isn't negotiated has no dialect`(_ version: Int64) {
        #expect(UploadWireFormat(interopVersion: version) == nil)
    }

    @Test func `the flag has another name and the inverse value in version 3`() {
        for dialect in UploadWireFormat.allCases {
            let isFirst = dialect == .v3
            #expect(dialect.rules.flagName == (isFirst ? .uploadIncomplete : .uploadComplete))
            for isComplete in [true, false] {
                var fields: HTTPFields = [:]
                dialect.encode(UploadFields(isComplete: isComplete), into: &fields)
                #expect(fields[dialect.rules.flagName] == (isComplete == isFirst ? "?0" : "?1"))
                #expect(dialect.decode(fields).isComplete == isComplete)
            }
        }
    }

    /// The rows of the table of differences, each with the first version that it applies to.
    @Test func `each difference begins with its version`() {
        let differences: [(String, since: UploadWireFormat, (UploadWireRules) -> Bool)] = [
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
            ("fields on HEAD", .v8, { !$0.refusesFieldsOnHead }),
            ("409 says incomplete", .v9, { $0.conflictCarriesFlag }),
            ("replay", .v9, { $0.completedAppend == .replayOrRefuse }),
        ]
        for (name, since, holds) in differences {
            for dialect in UploadWireFormat.allCases {
                #expect(
                    holds(dialect.rules) == (dialect.interopVersion >= since.interopVersion),
                    "\(name) in \(dialect)"
                )
            }
        }
        #expect(UploadWireFormat.v6.rules.lifetimeLimit == "expires")
        let slips = UploadWireFormat.allCases.filter { $0.rules.isIncompleteAppendFlaggedComplete }
        #expect(slips == [.v5, .v6])
        #expect(UploadWireFormat.v8.rules.completedAppend == .refuseAsCompleted)
    }
}
