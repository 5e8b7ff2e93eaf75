import StreamReading
import Testing

/// The file by which a phone finds a forward proxy.
@Suite struct AutoConfigurationTests {
    private func response(to request: String, reached: String? = nil) -> String {
        var handshake = ProxyHandshake(password: ProxyPassword("secret"))
        let outcome = handshake.read(Array(request.utf8).span) { reached.flatMap { ProxyTarget(host: $0, port: 8888) } }
        #expect(outcome == .failed)
        return String(decoding: handshake.takeReply(), as: UTF8.self)
    }

    @Test(arguments: ["/proxy.pac", "/wpad.dat", "/proxy.pac?v=1", "/wpad.dat?"])
    func `the file names the proxy as the client has reached it, and asks for no password`(path: String) {
        let response = response(to: "GET \(path) HTTP/1.1\r\nHost: 192.168.7.20:8888\r\n\r\n")
        #expect(response.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: application/x-ns-proxy-autoconfig\r\n"))
        let function = "function FindProxyForURL(url, host) {\n  return \"PROXY 192.168.7.20:8888\";\n}\n"
        #expect(response.hasSuffix("\r\n\r\n\(function)"))
    }

    @Test func `the certificate of an authority is another file, where there is one`() {
        for (authority, start) in [
            ("PEM", "HTTP/1.1 200 OK\r\nContent-Type: application/x-x509-ca-cert\r\n"), (nil, "HTTP/1.1 404"),
        ] {
            var handshake = ProxyHandshake(password: ProxyPassword("secret"), authority: authority)
            #expect(handshake.read(Array("GET /authority.pem HTTP/1.1\r\nHost: a:1\r\n\r\n".utf8).span) == .failed)
            let response = String(decoding: handshake.takeReply(), as: UTF8.self)
            #expect(response.hasPrefix(start))
            #expect(response.hasSuffix("\r\n\r\nPEM") == (authority != nil))
        }
    }

    @Test(arguments: [
        ("http://10.9.9.9:8888/authority.pem", "10.9.9.9", true), ("http://10.9.9.9:8888/proxy.pac", "10.9.9.9", true),
        ("HTTP://localhost:8888/authority.pem", "127.0.0.1", true), ("http://[::1]:8888/authority.pem", "::1", true),
        ("http://10.9.9.8:8888/authority.pem", "10.9.9.9", false), ("http://10.9.9.9/authority.pem", "10.9.9.9", false),
        ("http://localhost:8888/authority.pem", "10.9.9.9", false), ("http://10.9.9.9:8888/other", "10.9.9.9", false),
    ])
    func `a client that goes through the proxy gets its pages too, at its address alone`(
        url: String,
        host: String,
        isOwn: Bool
    ) throws {
        let own = try #require(ProxyTarget(host: host, port: 8_888))
        var handshake = ProxyHandshake(authority: "PEM")
        let outcome = handshake.read(Array("GET \(url) HTTP/1.1\r\nHost: a:1\r\n\r\n".utf8).span, reached: { own })
        #expect((outcome == .failed) == isOwn)
        #expect(String(decoding: handshake.takeReply(), as: UTF8.self).hasPrefix("HTTP/1.1 200 OK\r\n") == isOwn)
    }

    @Test func `HEAD has the length and no content`() {
        let response = response(to: "HEAD /proxy.pac HTTP/1.1\r\nHost: a:1\r\n\r\n")
        #expect(response.contains("Content-Length: 62\r\n") && response.hasSuffix("\r\n\r\n"))
    }

    @Test func `a client of HTTP/1.0 without Host gets the address that it has connected to`() {
        let request = "GET /proxy.pac HTTP/1.0\r\n\r\n"
        #expect(response(to: request, reached: "192.168.7.20").contains("\"PROXY 192.168.7.20:8888\";"))
        #expect(response(to: request, reached: "2001:db8::7").contains("\"PROXY [2001:db8::7]:8888\";"))
        #expect(response(to: request).hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        let named = "GET /proxy.pac HTTP/1.0\r\nHost: squall.test:1\r\n\r\n"
        #expect(response(to: named, reached: "192.168.7.20").contains("\"PROXY squall.test:1\";"))
    }

    @Test(arguments: ["/proxy.pacx", "/proxy.pac/", "/x?/proxy.pac"])
    func `other paths are no file`(path: String) {
        #expect(response(to: "GET \(path) HTTP/1.1\r\nHost: a:1\r\n\r\n").hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    }

    @Test(arguments: ["", "Host: \r\n", "Host: a\"b:1\r\n", "Host: a:1\r\nHost: b:1\r\n", "Host: a:0\r\n"])
    func `a request without one valid Host gets an error`(fields: String) {
        #expect(response(to: "GET /proxy.pac HTTP/1.1\r\n\(fields)\r\n").hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    }
}
