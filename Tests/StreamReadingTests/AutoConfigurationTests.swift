import StreamReading
import Testing

/// The file by which a phone finds an explicit proxy.
@Suite struct AutoConfigurationTests {
    private func response(to request: String) -> String {
        var handshake = ProxyHandshake(password: ProxyPassword("secret"))
        let outcome = handshake.read(Array(request.utf8).span)
        #expect(outcome == .failed)
        return String(decoding: handshake.takeReply(), as: UTF8.self)
    }

    @Test(arguments: ["/proxy.pac", "/wpad.dat"])
    func `the file names the proxy as the client has reached it, and asks for no password`(path: String) {
        let response = response(to: "GET \(path) HTTP/1.1\r\nHost: 192.168.7.20:8888\r\n\r\n")
        #expect(response.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: application/x-ns-proxy-autoconfig\r\n"))
        let function = "function FindProxyForURL(url, host) {\n  return \"PROXY 192.168.7.20:8888\";\n}\n"
        #expect(response.hasSuffix("\r\n\r\n\(function)"))
    }

    @Test func `HEAD has the length and no content`() {
        let response = response(to: "HEAD /proxy.pac HTTP/1.1\r\nHost: a:1\r\n\r\n")
        #expect(response.contains("Content-Length: 62\r\n") && response.hasSuffix("\r\n\r\n"))
    }

    @Test(arguments: ["", "Host: \r\n", "Host: a\"b:1\r\n", "Host: a:1\r\nHost: b:1\r\n", "Host: a:0\r\n"])
    func `a request without one valid Host gets an error`(fields: String) {
        #expect(response(to: "GET /proxy.pac HTTP/1.1\r\n\(fields)\r\n").hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    }
}
