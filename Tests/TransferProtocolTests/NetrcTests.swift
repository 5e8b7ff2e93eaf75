import HTTPTypes
import Testing

@testable import TransferProtocol

@Suite struct NetrcTests {
    /// The value of `Authorization` for a host; `nil` for none.
    private func login(_ text: String, _ host: String, orDefault: Bool = true) throws -> String? {
        try Netrc(Array(text.utf8)).credentials(for: host, orDefault: orDefault)?.fieldValue
    }

    private func basic(_ name: String, _ password: String) throws -> String {
        try BasicCredentials(name: name, password: password).fieldValue
    }

    @Test(arguments: [
        "machine h login n password p", "machine\th\n  login n\r\n\tpassword p\n",
        "machine h password p login n account a",
        "# machine h login x password y\nmachine h # one\nlogin n password p", "machine H login n password p",
        "machine \"h\" login \"n\" password \"p\"", "machine i login a password b machine h login n password p",
        "macdef init\ncd machine h\nlogin x\n\nmachine h login n password p", "machine h login x login n password p",
        "machine h login n password p machine h login x password y", "machine h login n password p default login d",
    ])
    func `a machine is found in every way that a file may be written`(text: String) throws {
        #expect(try login(text, "h") == basic("n", "p"))
    }

    @Test func `quotes hold white space, marks and escapes`() throws {
        let text = #"machine h login "a b#" password "c \"d\" \\ \n\t\r e""#
        #expect(throws: NetrcProblem(line: 1, kind: .credentials(.controlCharacter))) { try login(text, "h") }
        let plain = #"machine h login "a b#" password "c \"d\" \\ e""#
        #expect(try login(plain, "h") == basic("a b#", #"c "d" \ e"#))
        #expect(try login("machine h login n password p#q", "h") == basic("n", "p#q"))
    }

    @Test func `a host gets the first entry of its name, or an earlier default`() throws {
        let text = "machine a login 1 password 1\ndefault login d password d\nmachine b login 2 password 2"
        #expect(try login(text, "A") == basic("1", "1"))
        #expect(try login(text, "b") == basic("d", "d"))
        #expect(try login(text, "c") == basic("d", "d"))
        #expect(try login(text, "c", orDefault: false) == nil)
        #expect(try login(text, "b", orDefault: false) == basic("2", "2"))
        #expect(try login("machine [::1] login n password p", "::1") == basic("n", "p"))
    }

    @Test func `an entry without a login has an empty one, and without both it has none`() throws {
        #expect(try login("machine h password p", "h") == basic("", "p"))
        #expect(try login("machine h login n", "h") == basic("n", ""))
        #expect(try login("machine h", "h") == nil)
        #expect(try login("", "h") == nil)
    }

    @Test(arguments: [
        ("machine h\nlogin \"n", NetrcProblem(line: 2, kind: .openQuote)),
        ("machine h\nlogin \"n\\", NetrcProblem(line: 2, kind: .openQuote)),
        ("machine h login n\npassword p q", NetrcProblem(line: 2, kind: .unknownWord)),
        ("root:x:0:0", NetrcProblem(line: 1, kind: .unknownWord)),
        ("machine h login", NetrcProblem(line: 1, kind: .noValue)),
        ("\n\nmachine", NetrcProblem(line: 3, kind: .noValue)), ("login n", NetrcProblem(line: 1, kind: .noMachine)),
        ("a\u{0}", NetrcProblem(line: 1, kind: .notText)),
        ("macdef x\na\n\nlogin n", NetrcProblem(line: 4, kind: .noMachine)),
        ("machine h login a:b", NetrcProblem(line: 1, kind: .credentials(.colonInName))),
    ])
    func `a format error is reported with its line`(text: String, problem: NetrcProblem) {
        #expect(throws: problem) { try Netrc(Array(text.utf8)) }
    }

    @Test func `a file of the limit is read, and one byte more isn't`() throws {
        let text = "machine h login n password p\n"
        let padding = String(repeating: " ", count: Netrc.maximumSize - text.utf8.count)
        #expect(try login(padding + text, "h") != nil)
        #expect(throws: NetrcProblem(line: 1, kind: .tooLong)) { try login(" " + padding + text, "h") }
        #expect(throws: NetrcProblem(line: 1, kind: .notText)) { try Netrc([0x6D, 0xFF]) }
    }
}
