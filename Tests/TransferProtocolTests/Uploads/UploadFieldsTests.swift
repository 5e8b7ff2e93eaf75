import HTTPTypes
import Testing
import TransferProtocol

@Suite struct UploadFieldsTests {
    private static func fields(_ name: HTTPField.Name, _ value: String) -> HTTPFields {
        var fields = HTTPFields()
        fields[name] = value
        return fields
    }

    @Test(arguments: UploadWireFormat.allCases)
    func `fields are read as they were written`(_ dialect: UploadWireFormat) {
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
            dialect.encode(written, into: &fields)
            var expected = written
            if !dialect.rules.hasLengthField { expected.length = nil }
            if !dialect.rules.hasLimits { expected.limits = nil }
            #expect(dialect.decode(fields) == expected)
        }
    }

    @Test func `the flag is spelt by the dialect`() {
        var fields = HTTPFields()
        UploadWireFormat.v3.encode(UploadFields(isComplete: true), into: &fields)
        UploadWireFormat.v10.encode(UploadFields(isComplete: true), into: &fields)
        #expect(fields[.uploadIncomplete] == "?0")
        #expect(fields[.uploadComplete] == "?1")
        #expect(UploadWireFormat.v3.decode(Self.fields(.uploadIncomplete, "?1")).isComplete == false)
        #expect(UploadWireFormat.v6.decode(Self.fields(.uploadIncomplete, "?1")).isComplete == nil)
    }

    @Test(arguments: ["", "1", "true", "?2", "?1, ?1", "?1, ?0", "(?1)", "\"?1\""])
    func `a flag of another type counts as absent`(_ value: String) {
        #expect(UploadWireFormat.v10.decode(Self.fields(.uploadComplete, value)).isComplete == nil)
    }

    @Test(
        arguments: [
            "", "-1", "1.0", "1, 1", "?1", "\"1\"", "a", "1000000000000000", "9223372036854775808", "0x10", "(1)",
            "1 2",
        ]
    )
    func `a number of another type or beyond its range counts as absent`(_ value: String) {
        #expect(UploadWireFormat.v10.decode(Self.fields(.uploadOffset, value)).offset == nil)
        #expect(UploadWireFormat.v10.decode(Self.fields(.uploadLength, value)).length == nil)
        #expect(UploadWireFormat.interopVersion(in: Self.fields(.uploadDraftInteropVersion, value)) == nil)
    }

    @Test(
        arguments: [("0", 0), ("  7 ", 7), ("7;a=1", 7), ("999999999999999", UploadFields.largest)] as [(String, Int64)]
    )
    func `a number may have parameters`(_ value: String, _ number: Int64) {
        #expect(UploadWireFormat.v3.decode(Self.fields(.uploadOffset, value)).offset == number)
        #expect(UploadWireFormat.interopVersion(in: Self.fields(.uploadDraftInteropVersion, value)) == number)
    }

    @Test func `two lines of a field count as absent`() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .uploadOffset, value: "1"))
        fields.append(HTTPField(name: .uploadOffset, value: "1"))
        #expect(UploadWireFormat.v10.decode(fields).offset == nil)
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
