import FaultProfile
import Testing
import Units

/// `when.host`: names of hosts.
@Suite struct HostPatternTests {
    @Test(arguments: [
        (
            "example.com", ["example.com", "EXAMPLE.com", "example.com."],
            ["www.example.com", "example.org", "xexample.com"]
        ),
        ("Example.COM.", ["example.com"], ["example.com.org"]),
        (
            "*.example.com", ["www.example.com", "a.B.example.com."],
            ["example.com", ".com", "wwwexample.com", "www.example.com.org"]
        ),
        ("192.0.2.7", ["192.0.2.7", "::ffff:192.0.2.7"], ["192.0.2.70", "192.0.2.8"]),
        ("2001:DB8:0::1", ["2001:db8::1"], ["2001:db8::2"]), ("*.2.7", ["a.2.7"], ["192.0.2.7"]),
        ("localhost", ["LocalHost"], ["127.0.0.1"]), ("_srv-1.a", ["_SRV-1.a"], ["srv-1.a"]),
    ])
    func `matches the names that are meant`(pattern: String, hosts: [String], others: [String]) throws {
        let pattern = try HostPattern(parsing: pattern)
        for host in hosts { #expect(pattern.matches(host), "\(host)") }
        for host in others { #expect(!pattern.matches(host), "\(host)") }
        #expect(try HostPattern(parsing: pattern.text) == pattern)
    }

    @Test(arguments: [
        "", "*", "*.", ".", "a..b", ".a", "*.*.a", "a.*", "*a.b", "http://a", "a:80", "[::1]", "a b", "é.example",
        "a/b",
        String(repeating: "a", count: 254), "::1%lo",
    ])
    func `anything else is a problem that says what to write`(text: String) {
        let error = #expect(throws: UnitError.self) { try HostPattern(parsing: text) }
        #expect(error?.problem.hasSuffix("is not the name of a host") == true)
        #expect(error?.remedy.contains("“*.example.com”") == true)
    }
}
