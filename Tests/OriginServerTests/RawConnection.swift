import NIOCore
import NIOPosix

/// A connection of raw bytes, so that tests see exactly what a server sends.
struct RawConnection {
    /// A parsed response.
    struct Response: Hashable {
        var status: Int
        /// The head as sent, including the final empty line.
        var head: String
        var body: [UInt8]

        /// The value of a field, if it occurs exactly once.
        subscript(name: String) -> String? {
            let values = head.split(separator: "\r\n").dropFirst().compactMap { line -> String? in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
                return parts[1].trimmingPrefix(" ").description
            }
            return values.count == 1 ? values[0] : nil
        }
    }

    struct EndOfStream: Error {}

    private var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let channel: any Channel
    private var received: [UInt8] = []

    /// Connects to a port on the loopback, and closes after `body`.
    static func with<Result: Sendable>(
        port: Int,
        receiveBuffer: Int? = nil,
        _ body: (inout RawConnection) async throws -> Result
    ) async throws -> Result {
        var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.allowRemoteHalfClosure, value: true)
        if let receiveBuffer {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer))
        }
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                    wrappingChannelSynchronously: channel,
                    configuration: .init(
                        backPressureStrategy: .init(lowWatermark: 1, highWatermark: 1),
                        isOutboundHalfClosureEnabled: true
                    )
                )
            }
        }
        return try await channel.executeThenClose { inbound, outbound in
            var connection = RawConnection(
                iterator: inbound.makeAsyncIterator(),
                outbound: outbound,
                channel: channel.channel
            )
            return try await body(&connection)
        }
    }

    func send(_ text: String) async throws {
        try await outbound.write(ByteBuffer(string: text))
    }

    func send(bytes: [UInt8]) async throws {
        try await outbound.write(ByteBuffer(bytes: bytes))
    }

    /// Sends one byte at a time.
    func sendSplit(_ text: String) async throws {
        for byte in text.utf8 { try await outbound.write(ByteBuffer(bytes: [byte])) }
    }

    /// Closes the output; receiving continues.
    func closeOutput() async throws {
        try await channel.close(mode: .output)
    }

    /// The next response. `isHead`: a response to HEAD, without content.
    mutating func response(isHead: Bool = false) async throws -> Response {
        let head = try await head()
        var response = Response(status: Int(head.dropFirst(9).prefix(3)) ?? 0, head: head, body: [])
        let length = response["content-length"].flatMap { Int($0) } ?? 0
        if !isHead, response.status != 304, response.status != 204 {
            while received.count < length { try await receive() }
            response.body = Array(received.prefix(length))
            received.removeFirst(length)
        }
        return response
    }

    /// The head of the next response, including the final empty line.
    mutating func head() async throws -> String {
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: received[..<end.upperBound], as: UTF8.self)
                received.removeFirst(end.upperBound)
                return head
            }
            try await receive()
        }
    }

    /// Everything until the server closes or the connection fails.
    mutating func rest() async -> [UInt8] {
        while (try? await receive()) != nil {}
        defer { received = [] }
        return received
    }

    private mutating func receive() async throws {
        guard let bytes = try await iterator.next() else { throw EndOfStream() }
        received.append(contentsOf: bytes.readableBytesView)
    }
}
