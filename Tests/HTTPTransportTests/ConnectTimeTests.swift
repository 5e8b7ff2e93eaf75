import NIOCore
import NIOEmbedded
import TLSTransport
import Testing

@testable import HTTPTransport

/// The time limit of connecting, on the clock of an embedded loop.
@Suite struct ConnectTimeTests {
    private static let limit = NIODeadline.uptimeNanoseconds(10_000_000_000)

    /// Advances the time second by second; returns the seconds until the channel is closed.
    private func secondsUntilClosed(_ channel: EmbeddedChannel) -> Int? {
        for second in 1...60 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            if !channel.isActive { return second }
        }
        return nil
    }

    private func connected() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func secure(
        _ channel: EmbeddedChannel,
        through proxy: HTTPProxy? = nil
    ) -> EventLoopFuture<HTTPConnection> {
        HTTPConnector(group: channel.eventLoop, tls: TLSClient(TLSClientSettings()), timeout: .zero, readLength: nil)
            .secure(channel, "host.example", 443, through: proxy, until: Self.limit, false) { [] }
    }

    @Test(arguments: [nil, HTTPProxy(host: "proxy.example", port: 3_128)])
    func `a server or a proxy that never responds is given up after the time for connecting`(proxy: HTTPProxy?) throws {
        let channel = try connected()
        let connecting = secure(channel, through: proxy)
        channel.embeddedEventLoop.run()
        let sent = try #require(try channel.readOutbound(as: ByteBuffer.self))
        #expect(sent.readableBytesView.first == (proxy == nil ? 22 : UInt8(ascii: "C")), "a handshake, or CONNECT")
        #expect(secondsUntilClosed(channel) == 10)
        let error = #expect(throws: ChannelError.self) { try connecting.wait() }
        guard case .connectTimeout = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `the time for connecting is that of tunnel and handshake together`() throws {
        let channel = try connected()
        let connecting = secure(channel, through: HTTPProxy(host: "proxy.example", port: 3_128))
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        try channel.writeInbound(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n"))
        channel.embeddedEventLoop.run()
        #expect(secondsUntilClosed(channel) == 1)
        #expect(throws: ChannelError.self) { try connecting.wait() }
    }
}
