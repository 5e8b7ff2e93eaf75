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
        for port in [nil, 80, 443] as [UInt16?] {
            for host in hosts { #expect(pattern.matches(HostName(host, port: port)), "\(host)") }
            for host in others { #expect(!pattern.matches(HostName(host, port: port)), "\(host)") }
        }
        #expect(try HostPattern(parsing: pattern.text) == pattern)
    }

    @Test(arguments: [
        ("localhost:3000", "LocalHost", "127.0.0.1", "localhost:3000"),
        ("*.Example.com.:3000", "a.example.com", "example.com", "*.example.com:3000"),
        ("192.0.2.7:3000", "::ffff:192.0.2.7", "192.0.2.8", "192.0.2.7:3000"),
        ("[2001:DB8:0::1]:3000", "2001:db8::1", "2001:db8::2", "[2001:db8::1]:3000"),
    ])
    func `a port is the only one that is meant`(text: String, host: String, other: String, written: String) throws {
        let pattern = try HostPattern(parsing: text)
        #expect(pattern.matches(HostName(host, port: 3_000)))
        for port in [nil, 0, 80, 3_001] as [UInt16?] { #expect(!pattern.matches(HostName(host, port: port))) }
        #expect(!pattern.matches(HostName(other, port: 3_000)))
        #expect(pattern.text == written)
        #expect(try HostPattern(parsing: written) == pattern)
    }

    @Test(arguments: [
        "", "*", "*.", ".", "a..b", ".a", "*.*.a", "a.*", "*a.b", "http://a", "[::1]", "a b", "é.example", "a/b",
        "a:", "a:0", "a:65536", "a:x", "a:+1", ":80", "*:80", "[::1]:", "[::1]80", "[a]:80", "[192.0.2.7]:80",
        "[::1:80",
        String(repeating: "a", count: 254), "::1%lo",
    ])
    func `anything else is a problem that says what to write`(text: String) {
        let error = #expect(throws: UnitError.self) { try HostPattern(parsing: text) }
        #expect(error?.problem.hasSuffix("is not the name of a host") == true)
        #expect(error?.remedy.contains("“*.example.com”") == true)
    }
}
