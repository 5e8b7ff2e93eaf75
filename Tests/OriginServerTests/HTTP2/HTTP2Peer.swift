import DevelopmentCA
import NIOCore
import NIOHPACK
import NIOPosix
import NIOSSL

/// An HTTP/2 client over TLS that can send any frame, and otherwise follows the protocol.
struct HTTP2Peer {
    /// A header block.
    typealias Block = [(name: String, value: String)]

    /// The client's view of a stream.
    struct Stream {
        var heads: [HPACKHeaders] = []
        var content: [UInt8] = []
        var isEnded = false
        /// The error code of RST_STREAM.
        var reset: UInt32?
        /// The send window.
        var window = 0

        var isOver: Bool { isEnded || reset != nil }
        var status: Int? { heads.last?.first(name: ":status").flatMap { Int($0) } }
        subscript(name: String) -> String? { heads.last?.first(name: name) }
    }

    /// The server's GOAWAY.
    struct GoAway: Hashable {
        var lastStream: Int
        var code: UInt32
    }

    struct EndOfStream: Error {}

    private(set) var streams: [Int: Stream] = [:]
    private(set) var goAway: GoAway?
    /// The server's settings, by number (section 6.5.2).
    private(set) var settings: [UInt16: UInt32] = [:]
    /// The number of streams whose windows aren't updated after content arrives.
    var starved: Set<Int> = []

    private var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var received = ByteBuffer()
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var window = 65_535
    private var headless: ByteBuffer?
    private var acknowledgesSettings = true

    /// Connects to a port on the loopback, exchanges settings, and closes after `body`.
    ///
    /// - Parameter acknowledgesSettings: whether the server's settings, and so its limits, are acknowledged.
    static func with<Result: Sendable>(
        port: Int,
        trusting authority: DevelopmentCA,
        acknowledgesSettings: Bool = true,
        _ body: (inout HTTP2Peer) async throws -> Result
    ) async throws -> Result {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["h2"]
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.certificate.utf8)))
        configuration.certificateVerification = .noHostnameVerification
        let context = try NIOSSLContext(configuration: configuration)
        let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = try NIOSSLClientHandler(context: context, serverHostname: nil)
                try channel.pipeline.syncOperations.addHandler(handler)
                return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                    wrappingChannelSynchronously: channel,
                    configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 1))
                )
            }
        }
        return try await channel.executeThenClose { inbound, outbound in
            var peer = HTTP2Peer(iterator: inbound.makeAsyncIterator(), outbound: outbound)
            try await outbound.write(ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
            peer.acknowledgesSettings = acknowledgesSettings
            try await peer.send(HTTP2Frame(kind: .settings))
            while peer.settings.isEmpty { try await peer.receive() }
            return try await body(&peer)
        }
    }

    private init(
        iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
        self.iterator = iterator
        self.outbound = outbound
    }

    // MARK: - Sending

    func send(_ frame: HTTP2Frame) async throws { try await outbound.write(frame.bytes) }

    /// Sends a request head, without the pseudo-header fields that the test sets itself or omits.
    mutating func request(
        _ stream: Int,
        _ method: String = "GET",
        _ path: String = "/file.bin",
        _ fields: Block = [],
        pseudo: Block? = nil,
        ends: Bool = true
    ) async throws {
        let first =
            pseudo ?? [(":method", method), (":scheme", "https"), (":path", path), (":authority", "127.0.0.1")]
        try await send(headers(stream, first + fields, ends: ends))
    }

    /// A frame with a complete header block.
    mutating func headers(_ stream: Int, _ block: Block, ends: Bool) throws -> HTTP2Frame {
        streams[stream] = Stream(window: Int(settings[4] ?? 65_535))
        let flags = HTTP2Frame.endHeaders | (ends ? HTTP2Frame.endStream : 0)
        return HTTP2Frame(kind: .headers, flags: flags, stream: stream, payload: try encoded(block))
    }

    /// An HPACK header block, with any field names.
    func encoded(_ block: Block) throws -> ByteBuffer {
        var headers = HPACKHeaders()
        for field in block { headers.add(name: field.name, value: field.value, indexing: .nonIndexable) }
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator(), useHuffmanEncoding: false)
        var buffer = ByteBuffer()
        try encoder.encode(headers: headers, to: &buffer)
        return buffer
    }

    /// Sends content within the server's windows.
    mutating func content(_ stream: Int, _ bytes: [UInt8], ends: Bool) async throws {
        var rest = bytes[...]
        repeat {
            let room = min(window, streams[stream]?.window ?? 0, 16_384)
            guard room > 0 || rest.isEmpty else {
                try await receive()
                continue
            }
            let piece = rest.prefix(room)
            rest = rest.dropFirst(piece.count)
            window -= piece.count
            streams[stream]?.window -= piece.count
            let flags = ends && rest.isEmpty ? HTTP2Frame.endStream : 0
            let payload = ByteBuffer(bytes: piece)
            try await send(HTTP2Frame(kind: .data, flags: flags, stream: stream, payload: payload))
        } while !rest.isEmpty
    }

    /// Resets a stream.
    func reset(_ stream: Int, _ code: UInt32 = 8) async throws {
        try await send(HTTP2Frame(kind: .resetStream, stream: stream, payload: ByteBuffer(integer: code)))
    }

    /// Updates the window of a stream, or of the connection: 0.
    func open(_ stream: Int, by count: Int) async throws {
        try await send(HTTP2Frame(kind: .windowUpdate, stream: stream, payload: ByteBuffer(integer: UInt32(count))))
    }

    // MARK: - Receiving

    /// Removes and returns the next head on a stream.
    mutating func head(of stream: Int) async throws -> HPACKHeaders {
        while streams[stream]?.heads.isEmpty != false { try await receive() }
        return streams[stream]?.heads.removeFirst() ?? [:]
    }

    /// A stream that has ended, with its last head.
    mutating func response(_ stream: Int) async throws -> Stream {
        while true {
            if let state = streams[stream], state.isOver { return state }
            try await receive()
        }
    }

    /// A request without content, and the end of its stream.
    mutating func exchange(
        _ stream: Int,
        _ method: String = "GET",
        _ path: String = "/file.bin",
        _ fields: Block = []
    ) async throws -> Stream {
        try await request(stream, method, path, fields)
        return try await response(stream)
    }

    /// Receives until the server closes or the connection fails.
    mutating func rest() async { while (try? await receive()) != nil {} }

    /// Waits until the server has processed everything sent before.
    mutating func settle() async throws {
        pings += 1
        let number = pings
        try await send(HTTP2Frame(kind: .ping, payload: ByteBuffer(integer: number)))
        while pongs < number { try await receive() }
    }

    private var pings: UInt64 = 0
    private var pongs: UInt64 = 0

    /// Processes the next frame.
    mutating func receive() async throws {
        while true {
            if let frame = HTTP2Frame(from: &received) { return try await take(frame) }
            guard var bytes = try await iterator.next() else { throw EndOfStream() }
            received.writeBuffer(&bytes)
        }
    }

    private mutating func take(_ frame: HTTP2Frame) async throws {
        var payload = frame.payload
        switch frame.kind {
        case .settings where frame.flags & HTTP2Frame.acknowledges == 0:
            while let name: UInt16 = payload.readInteger(), let value: UInt32 = payload.readInteger() {
                settings[name] = value
            }
            guard acknowledgesSettings else { return }
            try await send(HTTP2Frame(kind: .settings, flags: HTTP2Frame.acknowledges))
        case .ping:
            if frame.flags & HTTP2Frame.acknowledges != 0 {
                pongs = max(pongs, payload.readInteger() ?? 0)
            } else {
                try await send(HTTP2Frame(kind: .ping, flags: HTTP2Frame.acknowledges, payload: payload))
            }
        case .goAway:
            let stream: UInt32 = payload.readInteger() ?? 0
            goAway = GoAway(lastStream: Int(stream), code: payload.readInteger() ?? 0)
        case .windowUpdate:
            let count = Int(payload.readInteger(as: UInt32.self) ?? 0)
            if frame.stream == 0 { window += count } else { streams[frame.stream]?.window += count }
        case .resetStream:
            streams[frame.stream, default: Stream()].reset = payload.readInteger()
        case .headers, .continuation:
            headless = (headless ?? ByteBuffer()).appending(payload)
            if frame.flags & HTTP2Frame.endHeaders != 0, var block = headless {
                headless = nil
                streams[frame.stream, default: Stream()].heads.append(try decoder.decodeHeaders(from: &block))
            }
            if frame.kind == .headers, frame.flags & HTTP2Frame.endStream != 0 { streams[frame.stream]?.isEnded = true }
        case .data:
            streams[frame.stream, default: Stream()].content += frame.payload.readableBytesView
            if frame.flags & HTTP2Frame.endStream != 0 { streams[frame.stream]?.isEnded = true }
            guard payload.readableBytes > 0 else { return }
            // The server may have closed already.
            try? await open(0, by: payload.readableBytes)
            if !starved.contains(frame.stream), streams[frame.stream]?.isOver == false {
                try? await open(frame.stream, by: payload.readableBytes)
            }
        case .settings, .priority, .pushPromise: break
        }
    }
}

extension ByteBuffer {
    fileprivate func appending(_ other: ByteBuffer) -> ByteBuffer {
        var buffer = self
        buffer.writeImmutableBuffer(other)
        return buffer
    }
}
