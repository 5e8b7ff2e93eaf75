import HTTPTypes
import Testing

@testable import ControlAPI

/// Browsers of other origins, and tokens.
@Suite struct RequestGuardTests {
    private func request(_ fields: [String: String], host: String = "localhost:8474", path: String = "/proxies")
        -> APIRequest
    {
        var all = HTTPFields()
        for (name, value) in fields { all[HTTPField.Name(name) ?? .accept] = value }
        return APIRequest(method: .get, path: path, fields: all, authority: host)
    }

    private func isRefused(_ fields: [String: String], host: String = "localhost:8474", path: String = "/proxies")
        -> Bool
    {
        RequestGuard(allowedHosts: ["Box.local"]).refusal(of: request(fields, host: host, path: path)) != nil
    }

    @Test(arguments: ["http://evil.example", "null", "http://localhost", "http://localhost:80", "file://"])
    func `a foreign origin is refused`(origin: String) { #expect(isRefused(["Origin": origin])) }

    @Test(arguments: ["localhost:8474", "127.0.0.1:8474", "[::1]:8474", "a.localhost", "box.LOCAL:1"])
    func `the own origin is not`(host: String) {
        #expect(!isRefused(["Origin": "http://\(host)", "Sec-Fetch-Site": "same-origin"], host: host))
    }

    @Test(arguments: ["cross-site", "same-site", "anything"])
    func `a foreign site is refused, but for the page itself`(site: String) {
        #expect(isRefused(["Sec-Fetch-Site": site]))
        #expect(!isRefused(["Sec-Fetch-Site": site], path: "/"))
    }

    @Test(arguments: [
        "evil.example:8474", "127.0.0.1.evil.example", "1.2.3", "1.2.3.256", "", "localhost.evil.example",
    ])
    func `a browser that names a foreign host is refused, for the page as well`(host: String) {
        #expect(isRefused(["User-Agent": "Mozilla/5.0"], host: host))
        #expect(isRefused(["User-Agent": "Mozilla/5.0"], host: host, path: "/"))
        #expect(isRefused(["Origin": "http://\(host)"], host: host))
    }

    @Test(arguments: [
        ("Referer", "http://evil.example/"), ("DNT", "1"), ("Sec-GPC", "1"), ("Accept-Language", "en-US,en;q=0.5"),
        ("Accept-Language", "*"),
    ])
    func `a page that sets its User-Agent is recognized by other fields`(name: String, value: String) {
        #expect(isRefused(["User-Agent": "x", name: value], host: "evil.example"))
        #expect(!isRefused(["User-Agent": "x", name: value]))
    }

    @Test func `other programs may use any host`() {
        #expect(!isRefused(["User-Agent": "curl/8.0"], host: "toxiproxy:8474"))
        let node = ["User-Agent": "node", "Accept-Language": "*", "Sec-Fetch-Mode": "cors"]
        #expect(!isRefused(node, host: "toxiproxy:8474"))
        #expect(!isRefused([:], host: "toxiproxy:8474"))
    }

    @Test(arguments: ["", "Bearer", "Bearer ", "Bearer wrong!", "Bearer secretsecret", "Bearer secre", "Basic secret"])
    func `without the token a request is refused`(value: String) {
        let guardian = RequestGuard(token: "secret")
        #expect(guardian.refusal(of: request(["Authorization": value])) != nil)
        #expect(guardian.refusal(of: request(["Authorization": value], path: "/version")) == nil)
        #expect(guardian.refusal(of: request(["Authorization": value], path: "/")) == nil)
    }

    @Test(arguments: ["Bearer secret", "bearer secret"])
    func `with the token it is not`(value: String) {
        #expect(RequestGuard(token: "secret").refusal(of: request(["Authorization": value])) == nil)
    }
}
