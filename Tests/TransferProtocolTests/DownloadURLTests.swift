import Testing
import TransferProtocol

@Suite struct DownloadURLTests {
    @Test(arguments: [
        ("http://h", "http://h/", "h"), ("HTTP://H:80/a", "http://h/a", "h"),
        ("http://h:8080?q", "http://h:8080/?q", "h:8080"),
        ("http://[::1]:81/x#f", "http://[::1]:81/x", "[::1]:81"), ("https://h:443/", "https://h/", "h"),
        ("http://h/a b/ü%20?x y", "http://h/a%20b/%C3%BC%20?x%20y", "h"), ("http://h:/", "http://h/", "h"),
        ("http://h/a/./b/../c", "http://h/a/c", "h"), ("http://h/../../x", "http://h/x", "h"),
    ])
    func `an absolute URL is read, and written in one form`(text: String, form: String, authority: String) throws {
        let url = try TransferURL(text)
        #expect(url.text == form)
        #expect(url.authority == authority)
        #expect(try TransferURL(url.text) == url)
    }

    @Test(arguments: [
        ("/a/b%20c?q", "b c"), ("/..x", "..x"), ("/", nil), ("/a/", nil), ("/%2E", nil), ("/%2e%2e", nil),
        ("/a%2Fb", nil), ("/a%00b", nil), ("/a%FF", nil), ("/a%2", nil),
    ])
    func `the last part of the path names a file if it can`(path: String, name: String?) throws {
        #expect(try TransferURL("http://h\(path)").fileName == name)
    }

    @Test func `an IPv6 host loses its brackets`() throws {
        #expect(try TransferURL("http://[FE80::1]/").host == "fe80::1")
    }

    @Test(arguments: [
        ("/x", TransferURLProblem.noScheme), ("x", .noScheme), ("", .noScheme), ("ftp://h/", .unknownScheme("ftp")),
        ("http:/x", .noHost), ("http:///x", .noHost), ("http://:80/", .noHost), ("http://a@h/", .userInformation),
        ("http://a:b@h/", .userInformation), ("http://h:0/", .invalidPort("0")),
        ("http://h:65536/", .invalidPort("65536")), ("http://h:+1/", .invalidPort("+1")),
        ("http://h:99999999999999999999/", .invalidPort("99999999999999999999")),
        ("http://h h/", .invalidHost("h h")), ("http://[::1/", .invalidHost("[::1")),
        ("http://[x]/", .invalidHost("[x]")), ("http://[::1]x/", .invalidHost("[::1]x")),
        ("http://ü/", .invalidHost("ü")), ("http://h/\r\nX: y", .controlCharacter),
        ("http://h/\u{7F}", .controlCharacter),
        ("http://h/" + String(repeating: "x", count: 8_000), .tooLong),
    ])
    func `an invalid download URL is refused with the reason`(text: String, problem: TransferURLProblem) {
        #expect(throws: problem) { try TransferURL(text) }
    }

    /// The examples of RFC 3986, section 5.4, that resolve to HTTP.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
        ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("g.", "http://a/b/c/g."), ("..g", "http://a/b/c/..g"),
        ("./g/.", "http://a/b/c/g/"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("http://h:81/x", "http://h:81/x"),
    ])
    func `a location is resolved as RFC 3986 says`(location: String, result: String) throws {
        #expect(try TransferURL("http://a/b/c/d;p?q").resolving(location).text == result)
    }

    @Test func `a location keeps the port of an IPv6 host`() throws {
        let long = String(repeating: "\"", count: 7_990)
        #expect(throws: TransferURLProblem.tooLong) { try TransferURL("http://a/\(long)/").resolving(long) }
        #expect(try TransferURL("http://[::1]:81/a").resolving("b").text == "http://[::1]:81/b")
    }

    @Test func `a location with credentials or another scheme is refused`() throws {
        let base = try TransferURL("http://a/")
        #expect(throws: TransferURLProblem.userInformation) { try base.resolving("http://u:p@b/") }
        #expect(throws: TransferURLProblem.unknownScheme("file")) { try base.resolving("file:///etc/passwd") }
    }
}
