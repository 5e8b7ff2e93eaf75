import NIOCore
import NIOPosix
import TestStreams
import Testing

@testable import TransferQueue

/// Sends the first line of a daemon of an earlier version, and closes the connection at a call.
private final class Greeting: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "squall-queue 1\n")), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
}

/// Clients of a daemon's socket.
@Suite(.timeLimit(.minutes(2))) struct QueueSocketTests {
    @Test func `a listener that never answers is an error with its remedy`() async throws {
        let folder = try Folder()
        let socket = try QueueSocket(folder: folder.path)
        #expect(try await socket.connect() == nil)
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(unixDomainSocketPath: socket.path).get()
        try await ending(
            listener,
            after: { _ in
                let connection = try #require(try await socket.connect())
                await #expect {
                    try await socket.call(.status(nil), on: connection, greetedWithin: .milliseconds(50)) { _, _ in true
                    }
                } throws: { error in
                    guard let error = error as? TransferQueueError else { return false }
                    return error.code == .daemon
                        && error.message.contains("hasn't answered for 50 ms: “ss -xlp” names it")
                }
            },
            by: { try await listener.close() }
        )
    }

    @Test func `a daemon of another version is an error with its remedy`() async throws {
        let folder = try Folder()
        let socket = try QueueSocket(folder: folder.path)
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Greeting()) }
            }
            .bind(unixDomainSocketPath: socket.path).get()
        try await ending(
            listener,
            after: { _ in
                _ = await #expect {
                    try await socket.call(.attach(nil)) { _, _ in true }
                } throws: { error in
                    guard let error = error as? TransferQueueError else { return false }
                    return error.code == .daemon && error.message.contains("doesn't answer as this version does")
                }
            },
            by: { try await listener.close() }
        )
    }
}
