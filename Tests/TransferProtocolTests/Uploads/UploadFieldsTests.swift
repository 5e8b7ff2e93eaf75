import HTTPTypes
import Testing
import TransferProtocol

@Suite struct UploadFieldsTests {
    private static func fields(_ name: HTTPField.Name, _ value: String) -> HTTPFields {
        var fields = HTTPFields()
        fields[name] = value
        return fields
    }

    @Test(arguments: UploadDialect.allCases)
    func `fields are read as they were written`(_ dialect: UploadDialect) {
        let limits = UploadLimits(
            maximumSize: 1,
            minimumSize: 2,
            maximumAppendSize: 3,
            minimumAppendSize: 4,
            lifetime: 5
        )
        for isComplete in [true, false] {
            let written = UploadFields(isComplete: isComplete, offset: 0, length: UploadFields.largest, limits: limits)
            var fields = HTTPFields()
            written.write(to: &fields, in: dialect)
            var expected = written
            if !dialect.rules.hasLengthField { expected.length = nil }
            if !dialect.rules.hasLimits { expected.limits = nil }
            #expect(UploadFields(fields, in: dialect) == expected)
        }
    }

    @Test func `the flag is spelt by the dialect`() {
        var fields = HTTPFields()
        UploadFields(isComplete: true).write(to: &fields, in: .v3)
        UploadFields(isComplete: true).write(to: &fields, in: .v10)
        #expect(fields[.uploadIncomplete] == "?0")
        #expect(fields[.uploadComplete] == "?1")
        #expect(UploadFields(Self.fields(.uploadIncomplete, "?1"), in: .v3).isComplete == false)
        #expect(UploadFields(Self.fields(.uploadIncomplete, "?1"), in: .v6).isComplete == nil)
    }

    @Test(arguments: ["", "1", "true", "?2", "?1, ?1", "?1, ?0", "(?1)", "\"?1\""])
    func `a flag of another type counts as absent`(_ value: String) {
        #expect(UploadFields(Self.fields(.uploadComplete, value), in: .v10).isComplete == nil)
    }

    @Test(
        arguments: [
            "", "-1", "1.0", "1, 1", "?1", "\"1\"", "a", "1000000000000000", "9223372036854775808", "0x10", "(1)",
            "1 2",
        ]
    )
    func `a number of another type or beyond its range counts as absent`(_ value: String) {
        #expect(UploadFields(Self.fields(.uploadOffset, value), in: .v10).offset == nil)
        #expect(UploadFields(Self.fields(.uploadLength, value), in: .v10).length == nil)
        #expect(UploadFields.interopVersion(of: Self.fields(.uploadDraftInteropVersion, value)) == nil)
    }

    @Test(
        arguments: [("0", 0), ("  7 ", 7), ("7;a=1", 7), ("999999999999999", UploadFields.largest)] as [(String, Int64)]
    )
    func `a number may have parameters`(_ value: String, _ number: Int64) {
        #expect(UploadFields(Self.fields(.uploadOffset, value), in: .v3).offset == number)
        #expect(UploadFields.interopVersion(of: Self.fields(.uploadDraftInteropVersion, value)) == number)
    }

    @Test func `two lines of a field count as absent`() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .uploadOffset, value: "1"))
        fields.append(HTTPField(name: .uploadOffset, value: "1"))
        #expect(UploadFields(fields, in: .v10).offset == nil)
    }

    @Test func `unknown limits are skipped`() {
        let limits = UploadLimits("max-size=10, future=(1 2), max-age=60, expires=7, min-append-size=5;x", in: .v8)
        #expect(limits == UploadLimits(maximumSize: 10, minimumAppendSize: 5, lifetime: 60))
        #expect(UploadLimits("max-age=60, expires=7", in: .v6) == UploadLimits(lifetime: 7))
        #expect(UploadLimits("", in: .v10) == UploadLimits())
    }

    @Test(arguments: [
        "max-size", "max-size=?1", "max-size=1.5", "max-size=(1)", "max-size=-1", "max-age=\"1\"", "=", "7,",
    ])
    func `one limit of a wrong type makes the field count as absent`(_ value: String) {
        #expect(UploadLimits("min-size=0, " + value, in: .v10) == nil)
    }

    @Test func `no limits are written as a least size of zero`() {
        #expect(UploadLimits().headerValue(in: .v10) == "min-size=0")
        #expect(UploadLimits().headerValue(in: .v5) == nil)
        #expect(UploadLimits("min-size=0", in: .v5) == nil)
        #expect(UploadLimits(maximumSize: 9, lifetime: 3).headerValue(in: .v6) == "max-size=9, expires=3")
        #expect(
            UploadLimits(maximumSize: .max, lifetime: 3).headerValue(in: .v9) == "max-size=999999999999999, max-age=3"
        )
    }
}
