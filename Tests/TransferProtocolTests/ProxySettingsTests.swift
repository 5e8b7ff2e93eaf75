import Testing
import TransferProtocol

/// The proxies of an environment, and which of them a URL goes through.
@Suite struct ProxySettingsTests {
    private func host(_ url: String, _ environment: [String: String]) throws -> String? {
        let settings = ProxySettings(environment: environment)
        return try settings.proxy(for: try TransferURL(url)).map { "\($0.host):\($0.port)" }
    }

    @Test(
        arguments: [
            ("proxy.example:3128", "proxy.example", 3_128), ("http://proxy.example", "proxy.example", 80),
            ("HTTP://[::1]:8080/", "::1", 8_080), ("http://ada:p%40ss@10.0.0.1:1", "10.0.0.1", 1),
        ]
    )
    func `an address is read`(text: String, host: String, port: Int) throws {
        let proxy = try ProxySettings.Proxy(text)
        #expect((proxy.host, proxy.port) == (host, port))
    }

    @Test func `a name and a password are decoded, and no text shows them`() throws {
        let proxy = try ProxySettings.Proxy("http://ada:p%40ss%3a@proxy.example")
        #expect(proxy.authorization == "Basic YWRhOnBAc3M6")
        #expect(try ProxySettings.Proxy("http://ada@proxy.example").authorization == "Basic YWRhOg==")
        #expect(!String(reflecting: proxy).contains("p@ss"))
        #expect(!"\(proxy)".contains("YWRhOnBAc3M6"))
    }

    @Test(
        arguments: [
            ("", ProxyProblem.invalid), ("http://", .invalid), ("proxy:0", .invalid), ("proxy:99999", .invalid),
            ("http://proxy/path", .invalid), ("http://a%zz@proxy", .invalid), ("pro xy", .invalid),
            ("https://proxy:443", .unknownScheme("https")), ("socks5://proxy", .unknownScheme("socks5")),
            ("http://a%0ab:c@proxy", .invalidCredentials),
        ]
    )
    func `an invalid proxy address is refused`(text: String, problem: ProxyProblem) {
        #expect(throws: problem) { try ProxySettings.Proxy(text) }
    }

    @Test func `each scheme has its variable, and both have another`() throws {
        let environment = ["http_proxy": "a:1", "HTTPS_PROXY": "b:2", "all_proxy": "c:3"]
        #expect(try host("http://x/", environment) == "a:1")
        #expect(try host("https://x/", environment) == "b:2")
        #expect(try host("https://x/", ["ALL_PROXY": "c:3"]) == "c:3")
        #expect(try host("http://x/", ["all_proxy": "c:3"]) == "c:3")
        #expect(try host("https://x/", ["https_proxy": "b:2", "HTTPS_PROXY": "d:4"]) == "b:2")
        // A CGI program takes it from a request's `Proxy` field.
        #expect(try host("http://x/", ["HTTP_PROXY": "a:1"]) == nil)
        #expect(try host("http://x/", ["http_proxy": ""]) == nil)
        #expect(throws: ProxyProblem.invalid) { try host("http://x/", ["http_proxy": "a b"]) }
    }

    @Test func `a proxy that isn't spoken to refuses only URLs that need it`() throws {
        let all = ["ALL_PROXY": "socks5://127.0.0.1:1080", "no_proxy": "intranet.example"]
        for url in ["http://x/", "https://x/"] {
            #expect(throws: ProxyProblem.unknownScheme("socks5")) { try host(url, all) }
        }
        for url in ["http://localhost:8/", "https://127.0.0.1/", "http://www.intranet.example/"] {
            #expect(try host(url, all) == nil)
        }
        #expect(try host("http://x/", all.merging(["http_proxy": "a:1"]) { $1 }) == "a:1")
        let other = ["https_proxy": "socks5://127.0.0.1:1080"]
        #expect(try host("http://x/", other) == nil)
        #expect(throws: ProxyProblem.unknownScheme("socks5")) { try host("https://x/", other) }
    }

    @Test(
        arguments: [
            ("http://example.com/", "example.com", true), ("http://www.example.com/", "example.com", true),
            ("http://www.example.com/", ".example.com", true), ("http://www.example.com/", "*.example.com", true),
            ("http://notexample.com/", "example.com", false), ("http://x/", "*", true),
            ("http://example.com:81/", "example.com:81", true), ("http://example.com/", "example.com:81", false),
            ("http://10.0.0.1/", "10.0.0.1, x", true), ("http://[2001:db8::1]/", "2001:db8::1", true),
            ("http://[2001:db8::1]:8/", "[2001:db8::1]", true), ("http://example.com/", "", false),
            ("http://EXAMPLE.com/", "other,Example.COM", true),
        ]
    )
    func `exceptions are hosts, what lies below them, and ports`(url: String, list: String, isDirect: Bool) throws {
        #expect(try (host(url, ["http_proxy": "a:1", "no_proxy": list]) == nil) == isDirect)
    }

    @Test func `an environment's proxies aren't used for this machine`() throws {
        for url in ["http://localhost/", "http://127.0.0.1:8/", "http://[::1]/", "http://a.localhost/"] {
            #expect(try host(url, ["http_proxy": "a:1"]) == nil)
        }
        #expect(try host("http://127.example.com/", ["http_proxy": "a:1"]) == "a:1")
        let proxy = try ProxySettings.Proxy("a:1")
        #expect(try ProxySettings(http: proxy).proxy(for: TransferURL("http://localhost/")) == proxy)
    }
}
