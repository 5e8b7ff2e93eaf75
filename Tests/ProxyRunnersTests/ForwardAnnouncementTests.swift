import EventLoop
import ProxyEngine
import ProxyRunners
import Testing

/// The lines that lead clients to a forward proxy.
@Suite struct ForwardAnnouncementTests {
    private static func lines(at host: String, columns: Int) throws -> [String] {
        let address = try #require(SocketAddress(numericHost: host, port: 9_342))
        return ForwardAnnouncement.lines(for: address, ForwardPolicy(), columns: columns)
    }

    @Test(arguments: [(0, false), (36, false), (37, true), (200, true)])
    func `a QR code needs a terminal that is as wide`(columns: Int, isShown: Bool) throws {
        let lines = try Self.lines(at: "192.0.2.2", columns: columns)
        #expect(lines[0].hasPrefix("export HTTPS_PROXY=http://192.0.2.2:9342 "))
        #expect(lines[1].hasPrefix("phone: use http://192.0.2.2:9342/proxy.pac "))
        let code = lines.dropFirst(2)
        #expect(code.count == (isShown ? 19 : 0))
        #expect(code.allSatisfy { $0.count == 37 })
    }

    @Test func `a proxy that only this machine reaches has no code`() throws {
        #expect(try Self.lines(at: "127.0.0.1", columns: 200).count == 1)
    }
}
