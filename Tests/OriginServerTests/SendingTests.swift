import Foundation
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import NIOPosix
import Testing

@testable import OriginServer

@Suite struct SendingTests {
    private static let size = 64 << 20

    /// Requests a file, reads the head, modifies the file while most of it is unsent, and returns the rest of the
    /// response and the request log.
    private func bytesArriving(
        after change: @Sendable (TestOrigin) throws -> Void
    ) async throws -> (count: Int, record: RequestRecord?) {
        try await TestOrigin.with([:]) { origin in
            try origin.writeSparse(Self.size, to: "big.bin")
            let port = origin.server.address.port
            let count = try await RawConnection.with(port: port, receiveBuffer: 65_536) { connection in
                try await connection.send("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                let head = try await connection.head()
                #expect(head.contains("\r\nContent-Length: \(Self.size)\r\n"))
                try change(origin)
                return await connection.rest().count
            }
            return (count, await origin.records.next())
        }
    }

    @Test func `a file that gets shorter while it is sent ends the connection before its announced length`()
        async throws
    {
        let (count, record) = try await bytesArriving { try $0.truncate("big.bin", to: 1_000) }
        #expect(count < Self.size)
        #expect(record?.ending == .fileChanged)
        #expect(record?.status == 200)
    }

    @Test func `a file that is rewritten while it is sent never arrives complete`() async throws {
        let (count, record) = try await bytesArriving { origin in
            let handle = try FileHandle(forWritingTo: origin.url("big.bin"))
            try handle.seek(toOffset: UInt64(Self.size) - 1)
            try handle.write(contentsOf: Data([1]))
            try handle.close()
        }
        #expect(count < Self.size)
        #expect(record?.ending == .fileChanged)
    }

    @Test func `a file that is replaced while it is sent arrives as it was`() async throws {
        try await TestOrigin.with([:]) { origin in
            try origin.writeSparse(Self.size, to: "big.bin")
            try await RawConnection.with(port: origin.server.address.port, receiveBuffer: 65_536) { connection in
                try await connection.send("GET /big.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                _ = try await connection.head()
                try FileManager.default.removeItem(at: origin.url("big.bin"))
                try origin.write([1], to: "big.bin")
                #expect(await connection.rest().count == Self.size)
            }
            let record = await origin.records.next()
            #expect(record?.ending == .complete)
            #expect(record?.bytesSent == Int64(Self.size))
        }
    }

    @Test func `a client that disconnects is marked in the request log`() async throws {
        try await TestOrigin.with([:]) { origin in
            try origin.writeSparse(Self.size, to: "big.bin")
            try await RawConnection.with(port: origin.server.address.port, receiveBuffer: 65_536) { connection in
                try await connection.send("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await connection.head()
            }
            let record = await origin.records.next()
            #expect(record?.ending == .disconnected)
            #expect((record?.bytesSent ?? .max) < Int64(Self.size))
        }
    }

    /// A socket stand-in that accepts bytes only when the test allows it.
    private final class ReluctantSocket: ChannelOutboundHandler {
        typealias OutboundIn = HTTPResponsePart

        var pending: [(count: Int, promise: EventLoopPromise<Void>?)] = []
        var taken = 0
        private let arrivals: AsyncStream<Void>.Continuation

        init(arrivals: AsyncStream<Void>.Continuation) {
            self.arrivals = arrivals
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard case .body(let content) = unwrapOutboundIn(data) else {
                promise?.succeed()
                return
            }
            pending.append((content.readableBytes, promise))
            arrivals.yield()
        }

        func takeOne() {
            let (count, promise) = pending.removeFirst()
            taken += count
            promise?.succeed()
        }
    }

    @Test func `for a client that doesn't read, two chunks wait and no third`() async throws {
        let chunks = 20
        var limits = OriginLimits.patient
        limits.chunkBytes = 1_000
        try await TestOrigin.with(["file": Array(repeating: 1, count: chunks * 1_000)]) { [limits] origin in
            let responder = Responder(
                configuration: OriginConfiguration(folder: origin.folder.path, limits: limits),
                folder: try ServedFolder(path: origin.folder.path),
                digests: DigestStore(capacity: 1, concurrency: 1),
                threadPool: .singleton
            )
            let (arrivals, continuation) = AsyncStream<Void>.makeStream()
            let channel = NIOAsyncTestingChannel()
            let loop = channel.testingEventLoop
            let socket = try await loop.executeInContext {
                let socket = ReluctantSocket(arrivals: continuation)
                try channel.pipeline.syncOperations.addHandler(socket)
                return NIOLoopBound(socket, eventLoop: loop)
            }
            let head = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/file")
            let request = InboundRequest.request(RequestHead(head, RequestTraits(head), limits: limits))
            async let response = responder.respond(request, on: channel)
            var arrival = arrivals.makeAsyncIterator()
            _ = await arrival.next()
            for number in 1..<chunks {
                _ = await arrival.next()
                // Everything that the responder can do without the socket has happened by now.
                for _ in 0..<10 {
                    try await NIOThreadPool.singleton.runIfActive {}
                    await loop.run()
                }
                let pending = try await loop.executeInContext { socket.value.pending.count }
                #expect(pending == 2, "\(number)")
                try await loop.executeInContext { socket.value.takeOne() }
            }
            try await loop.executeInContext { socket.value.takeOne() }
            #expect(await response)
            #expect(try await loop.executeInContext { socket.value.taken } == chunks * 1_000)
        }
    }
}
