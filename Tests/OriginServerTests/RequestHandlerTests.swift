import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import Testing

@testable import OriginServer

/// The handlers of a connection without a socket, with a clock that tests advance.
@Suite(.timeLimit(.minutes(5))) struct RequestHandlerTests {
    /// A channel whose responses are written by `respond`.
    private func channel(
        limits: OriginLimits = OriginLimits(),
        respond: @escaping RequestHandler.Respond
    ) async throws -> NIOAsyncTestingChannel {
        let channel = NIOAsyncTestingChannel()
        try await channel.testingEventLoop.executeInContext {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(ByteArrivalHandler())
            try pipeline.addHandler(HTTPResponseEncoder())
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
            try pipeline.addHandler(HTTPServerPipelineHandler())
            let progress = RequestProgress()
            try pipeline.addHandler(HTTP1Adapter(progress, isSecure: false))
            let now = channel.eventLoop.now
            try pipeline.addHandler(RequestHandler(limits: limits, now: now, progress: progress, respond: respond))
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        return channel
    }

    /// Responds with an empty 204, or 408 when late.
    @Sendable
    private static func noContent(_ request: InboundRequest, _ channel: any Channel) async -> Bool {
        var head = HTTPResponse(status: .noContent)
        if case .rejected(.timedOut) = request { head.status = .requestTimeout }
        try? await channel.writeAndFlush(HTTPResponsePart.head(head))
        channel.writeAndFlush(HTTPResponsePart.end(nil), promise: nil)
        return true
    }

    private func statusLine(of channel: NIOAsyncTestingChannel) async throws -> String {
        let head = String(buffer: try await channel.waitForOutboundWrite(as: ByteBuffer.self))
        return String(head.prefix { $0 != "\r\n" })
    }

    @Test func `a connection that says nothing is closed after the idle time-out`() async throws {
        let channel = try await channel(respond: Self.noContent)
        await channel.testingEventLoop.advanceTime(by: .seconds(59))
        #expect(channel.isActive)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a head that dribbles in is cut off after its time-out`() async throws {
        let channel = try await channel(respond: Self.noContent)
        await channel.testingEventLoop.advanceTime(by: .seconds(59))
        for byte in "GET / HTTP/1.1\r\nHost: aaaaaaaa".utf8 {
            #expect(channel.isActive)
            try await channel.writeInbound(ByteBuffer(bytes: [byte]))
            await channel.testingEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(!channel.isActive)
    }

    @Test func `content that dribbles in gets 408 after the window of the least throughput`() async throws {
        let channel = try await channel(respond: Self.noContent)
        try await channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n"))
        for _ in 0..<29 {
            await channel.testingEventLoop.advanceTime(by: .seconds(1))
            try await channel.writeInbound(ByteBuffer(string: "x"))
        }
        #expect(try await channel.readOutbound(as: ByteBuffer.self) == nil)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        #expect(try await statusLine(of: channel) == "HTTP/1.1 408 Request Timeout")
    }

    @Test func `a connection that ends in the middle of a head gets no response`() async throws {
        let requested = AsyncStream<Void>.makeStream()
        let channel = try await channel { _, _ in
            requested.continuation.yield()
            return true
        }
        try await channel.writeInbound(ByteBuffer(string: "GET / HT"))
        try await channel.close()
        await channel.testingEventLoop.run()
        requested.continuation.finish()
        #expect(await requested.stream.reduce(0) { count, _ in count + 1 } == 0)
    }

    @Test func `a response that isn't read is abandoned after the stall timeout`() async throws {
        let written = AsyncStream<Void>.makeStream()
        let channel = try await channel { _, channel in
            let head = HTTPResponse(status: .ok, headerFields: [.contentLength: "9"])
            // Written but never flushed: to the handlers it looks like a blocked socket.
            channel.write(HTTPResponsePart.head(head), promise: nil)
            written.continuation.yield()
            return true
        }
        try await channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        for await _ in written.stream { break }
        await channel.testingEventLoop.run()
        await channel.testingEventLoop.advanceTime(by: .seconds(299))
        #expect(channel.isActive)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a server that is slow to respond isn't cut off`() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let channel = try await channel { request, channel in
            for await _ in gate.stream { break }
            return await Self.noContent(request, channel)
        }
        try await channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        await channel.testingEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        gate.continuation.yield()
        #expect(try await statusLine(of: channel) == "HTTP/1.1 204 No Content")
    }

    @Test func `a response that can't be finished closes the connection`() async throws {
        let channel = try await channel { _, channel in
            let head = HTTPResponse(status: .ok, headerFields: [.contentLength: "9"])
            try? await channel.writeAndFlush(HTTPResponsePart.head(head))
            return false
        }
        try await channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        #expect(try await statusLine(of: channel) == "HTTP/1.1 200 OK")
        try await channel.closeFuture.get()
    }

    @Test func `a response is cancelled when its client disconnects`() async throws {
        let (events, continuation) = AsyncStream<String>.makeStream()
        let channel = try await channel { _, _ in
            continuation.yield("began")
            // Ends only by cancellation.
            let (never, unused) = AsyncStream<Void>.makeStream()
            for await _ in never {}
            unused.finish()
            continuation.yield(Task.isCancelled ? "cancelled" : "went on")
            return false
        }
        try await channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "began")
        try await channel.close()
        #expect(await iterator.next() == "cancelled")
    }
}
