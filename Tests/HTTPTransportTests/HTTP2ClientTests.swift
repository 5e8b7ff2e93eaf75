import HTTPTransport
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import TLSTransport

@Suite struct HTTP2ClientTests {
    private final class Errors: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTPResponsePart
        private let told: @Sendable (any Error) -> Void

        init(_ told: @escaping @Sendable (any Error) -> Void) { self.told = told }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { told(error) }
    }

    @Test func `an empty status ends the stream, and not the process`() async throws {
        try await confirmation { confirm in
            let connection = EmbeddedChannel()
            try await connection.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
            let opened = HTTP2Client.openStream(on: connection, isLast: false) { stream in
                try stream.pipeline.syncOperations.addHandler(
                    Errors { if HTTP2Failure($0)?.description == "the answer has an empty status" { confirm() } }
                )
            }
            connection.embeddedEventLoop.run()
            let stream = try await opened.get()
            let request = HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/")
            stream.write(HTTPRequestPart.head(request), promise: nil)
            stream.writeAndFlush(HTTPRequestPart.end(nil), promise: nil)
            // SETTINGS, and HEADERS of stream 1 with “:status: ” as a literal (RFC 7541, section 6.2.2).
            let frames: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0] + [0, 0, 2, 1, 5, 0, 0, 0, 1, 0x08, 0]
            try connection.writeInbound(ByteBuffer(bytes: frames))
            connection.embeddedEventLoop.run()
            _ = try? connection.finish()
        }
    }
}
