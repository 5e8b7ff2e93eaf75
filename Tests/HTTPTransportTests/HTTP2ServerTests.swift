import HTTPTransport
import NIOCore
import NIOEmbedded
import NIOHTTP2
import Synchronization
import Testing

@testable import TLSTransport

/// An HTTP/2 connection without a socket, with a clock that tests advance.
@Suite struct HTTP2ServerTests {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, 0, 0, [])
    /// GET https://a/ by HPACK's static table (RFC 7541, appendix A).
    private static let head: [UInt8] = [0x82, 0x87, 0x84, 0x41, 1, 0x61]

    private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), type, flags, 0, 0, 0, stream] + payload
    }

    /// Delays the reads of a stream until its content is requested.
    private final class HeldReads: ChannelOutboundHandler, Sendable {
        typealias OutboundIn = Never
        private let isHeld = Mutex(true)
        private let channel = Mutex<(any Channel)?>(nil)

        func handlerAdded(context: ChannelHandlerContext) { channel.withLock { $0 = context.channel } }

        func read(context: ChannelHandlerContext) {
            if !isHeld.withLock({ $0 }) { context.read() }
        }

        func release() {
            isHeld.withLock { $0 = false }
            channel.withLock { $0 }?.read()
        }
    }

    private func connection(
        _ initialize: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let limits = HTTP2Limits(streams: 4, headBytes: 1_000, window: 70_000, idleTimeout: .seconds(60))
        try HTTP2Server.start(on: channel, limits, initialize)
        try channel.writeInbound(ByteBuffer(bytes: Self.preface))
        return channel
    }

    /// The types of frames sent since the last call.
    private func types(_ channel: EmbeddedChannel) throws -> [UInt8] {
        var types: [UInt8] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            if let type: UInt8 = bytes.getInteger(at: bytes.readerIndex + 3) { types.append(type) }
        }
        return types
    }

    @Test func `a connection without streams ends after the idle time-out, with GOAWAY`() throws {
        let channel = try connection()
        _ = try types(channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(59))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(try types(channel) == [7])
        #expect(!channel.isActive)
    }

    @Test func `a stream keeps its connection, and the idle time begins when it is over`() throws {
        let channel = try connection()
        try channel.writeInbound(ByteBuffer(bytes: Self.frame(1, 5, 1, Self.head)))
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        // RST_STREAM: CANCEL.
        try channel.writeInbound(ByteBuffer(bytes: Self.frame(3, 0, 1, [0, 0, 0, 8])))
        channel.embeddedEventLoop.advanceTime(by: .seconds(59))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `unread content keeps its stream's window closed, and the other streams continue`() throws {
        let reads = HeldReads()
        let channel = try connection { stream in
            // The client's streams are 1 and 3: the first is blocked.
            guard try stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) == 1 else { return }
            try stream.pipeline.syncOperations.addHandler(reads)
        }
        let post = [0x83] + Self.head.dropFirst()
        for stream in [UInt8(1), 3] { try channel.writeInbound(ByteBuffer(bytes: Self.frame(1, 4, stream, post))) }
        _ = try updates(channel)
        for _ in 0..<4 {
            for stream in [UInt8(1), 3] {
                let content = [UInt8](repeating: 1, count: 16_000)
                try channel.writeInbound(ByteBuffer(bytes: Self.frame(0, 0, stream, content)))
            }
        }
        #expect(try updates(channel) == [0, 3])
        reads.release()
        channel.embeddedEventLoop.run()
        #expect(try updates(channel).contains(1))
    }

    /// The streams whose windows were updated since the last call; 0 is the connection.
    private func updates(_ channel: EmbeddedChannel) throws -> Set<UInt32> {
        var streams: Set<UInt32> = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            guard bytes.getInteger(at: bytes.readerIndex + 3) == UInt8(8) else { continue }
            if let stream: UInt32 = bytes.getInteger(at: bytes.readerIndex + 5) { streams.insert(stream) }
        }
        return streams
    }

    @Test func `a shutdown waits for the streams that are open`() throws {
        let channel = try connection()
        try channel.writeInbound(ByteBuffer(bytes: Self.frame(1, 5, 1, Self.head)))
        _ = try types(channel)
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(try types(channel) == [7])
        #expect(channel.isActive)
        try channel.writeInbound(ByteBuffer(bytes: Self.frame(3, 0, 1, [0, 0, 0, 8])))
        channel.embeddedEventLoop.run()
        #expect(!channel.isActive)
    }

    @Test func `an empty field name is a connection error`() throws {
        let channel = try connection()
        let block = Self.head + [0, 0, 1, 0x62]
        #expect(throws: (any Error).self) {
            try channel.writeInbound(ByteBuffer(bytes: Self.frame(1, 5, 1, block)))
            try channel.throwIfErrorCaught()
            if !channel.isActive { throw ChannelError.eof }
        }
        #expect(!channel.isActive)
    }
}
