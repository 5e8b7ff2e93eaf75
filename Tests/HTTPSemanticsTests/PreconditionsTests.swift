import HTTPSemantics
import HTTPTypes
import Testing

@Suite struct PreconditionsTests {
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    private static let after = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let current = Validators(entityTag: EntityTag("\"now\""), lastModified: HTTPDate(modified))
    private static let longAfter = HTTPDate(secondsSinceEpoch: 784_111_777 + 86_400)

    private func outcome(
        _ fields: HTTPFields,
        method: HTTPRequest.Method = .get,
        current: Validators? = Self.current
    ) -> Preconditions.Outcome {
        Preconditions(fields).outcome(method: method, current: current)
    }

    @Test(arguments: [HTTPRequest.Method.get, .head, .put])
    func `a request without conditions is carried out`(_ method: HTTPRequest.Method) {
        #expect(outcome([:], method: method) == .proceed)
    }

    @Test(
        arguments: [
            ("\"now\"", Preconditions.Outcome.proceed), ("\"other\", \"now\"", .proceed), ("*", .proceed),
            ("\"other\"", .failed), ("W/\"now\"", .failed), ("now", .failed), ("\"now\", nope", .failed),
        ]
    )
    func `If-Match requires the current tag, strongly compared`(_ field: String, _ expected: Preconditions.Outcome) {
        #expect(outcome([.ifMatch: field]) == expected)
        #expect(outcome([.ifMatch: field], method: .put) == expected)
    }

    @Test(
        arguments: [
            ("\"now\"", true), ("W/\"now\"", true), ("\"other\", W/\"now\"", true), ("*", true),
            ("\"other\"", false), ("now", false),
        ]
    )
    func `If-None-Match requires another tag, weakly compared`(_ field: String, _ matches: Bool) {
        #expect(outcome([.ifNoneMatch: field]) == (matches ? .notModified : .proceed))
        #expect(outcome([.ifNoneMatch: field], method: .head) == (matches ? .notModified : .proceed))
        #expect(outcome([.ifNoneMatch: field], method: .put) == (matches ? .failed : .proceed))
    }

    @Test(
        arguments: [
            (Self.before, Preconditions.Outcome.proceed), (Self.modified, .notModified), (Self.after, .notModified),
            ("yesterday", .proceed), ("\(Self.after), \(Self.after)", .proceed),
        ]
    )
    func `If-Modified-Since requires a later change`(_ field: String, _ expected: Preconditions.Outcome) {
        #expect(outcome([.ifModifiedSince: field]) == expected)
        #expect(outcome([.ifModifiedSince: field], method: .put) == .proceed)
    }

    @Test(
        arguments: [
            (Self.before, Preconditions.Outcome.failed), (Self.modified, .proceed), (Self.after, .proceed),
            ("yesterday", .proceed),
        ]
    )
    func `If-Unmodified-Since requires no later change`(_ field: String, _ expected: Preconditions.Outcome) {
        #expect(outcome([.ifUnmodifiedSince: field]) == expected)
        #expect(outcome([.ifUnmodifiedSince: field], method: .put) == expected)
    }

    @Test func `tags go before dates`() {
        #expect(outcome([.ifMatch: "\"now\"", .ifUnmodifiedSince: Self.before]) == .proceed)
        #expect(outcome([.ifNoneMatch: "\"other\"", .ifModifiedSince: Self.after]) == .proceed)
        #expect(outcome([.ifNoneMatch: "\"now\"", .ifModifiedSince: Self.before]) == .notModified)
        #expect(outcome([.ifNoneMatch: "nope", .ifModifiedSince: Self.after]) == .proceed)
    }

    @Test func `a failed match goes before an unmodified state`() {
        #expect(outcome([.ifMatch: "\"other\"", .ifNoneMatch: "\"now\""]) == .failed)
        #expect(outcome([.ifUnmodifiedSince: Self.before, .ifModifiedSince: Self.after]) == .failed)
        #expect(outcome([.ifMatch: "\"now\"", .ifNoneMatch: "\"now\""]) == .notModified)
    }

    @Test func `a target without a state matches nothing`() {
        #expect(outcome([.ifMatch: "*"], method: .put, current: nil) == .failed)
        #expect(outcome([.ifNoneMatch: "*"], method: .put, current: nil) == .proceed)
        #expect(outcome([.ifUnmodifiedSince: Self.before], method: .put, current: nil) == .proceed)
    }

    @Test func `a state without validators can't be shown to be the one`() {
        let bare = Validators(entityTag: nil, lastModified: nil)
        #expect(outcome([.ifMatch: "\"now\""], current: bare) == .failed)
        #expect(outcome([.ifMatch: "*"], current: bare) == .proceed)
        #expect(outcome([.ifUnmodifiedSince: Self.after], current: bare) == .failed)
        #expect(outcome([.ifModifiedSince: Self.after], current: bare) == .proceed)
        #expect(!Preconditions([.ifRange: "\"now\""]).honoursRange(of: bare, now: Self.longAfter))
        #expect(!Preconditions([.ifRange: Self.modified]).honoursRange(of: bare, now: Self.longAfter))
    }

    @Test func `several lines of a field are one list`() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .ifMatch, value: "\"other\""))
        fields.append(HTTPField(name: .ifMatch, value: "\"now\""))
        #expect(outcome(fields) == .proceed)
    }

    @Test(
        arguments: [
            (nil, true), ("\"now\"", true), ("\"other\"", false), ("W/\"now\"", false), ("now", false), ("*", false),
            ("\"now\", \"other\"", false), (Self.modified, true), (Self.before, false), (Self.after, false),
            ("Sunday, 06-Nov-94 08:49:37 GMT", true), ("yesterday", false),
        ] as [(String?, Bool)]
    )
    func `If-Range requires proof that the part is of the current state`(_ field: String?, _ isHonoured: Bool) {
        var fields = HTTPFields()
        fields[.ifRange] = field
        #expect(Preconditions(fields).honoursRange(of: Self.current, now: Self.longAfter) == isHonoured)
    }

    @Test func `If-Range with a weak current tag is never honoured`() {
        let weak = Validators(entityTag: EntityTag("W/\"now\""), lastModified: nil)
        #expect(!Preconditions([.ifRange: "W/\"now\""]).honoursRange(of: weak, now: Self.longAfter))
        #expect(!Preconditions([.ifRange: "\"now\""]).honoursRange(of: weak, now: Self.longAfter))
    }

    @Test func `a date is strong from one second after it`() throws {
        let modified = try #require(Self.current.lastModified)
        let preconditions = Preconditions([.ifRange: Self.modified])
        let next = HTTPDate(secondsSinceEpoch: modified.secondsSinceEpoch + 1)
        #expect(!preconditions.honoursRange(of: Self.current, now: modified))
        #expect(preconditions.honoursRange(of: Self.current, now: next))
    }
}
