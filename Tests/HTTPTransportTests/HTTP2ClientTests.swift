import HTTPTransport
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Synchronization
import Testing

@testable import TLSTransport

@Suite struct HTTP2ClientTests {
    private final class Errors: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTPResponsePart
        private let told: @Sendable (any Error) -> Void

        init(_ told: @escaping @Sendable (any Error) -> Void) { self.told = told }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { told(error) }
    }

    /// The frame HEADERS of stream 1 with `:status` as a literal (RFC 7541, section 6.2.2).
    private static func head(_ status: String, isLast: Bool = false) -> [UInt8] {
        let length = UInt8(status.utf8.count)
        return [0, 0, length + 2, 1, isLast ? 5 : 4, 0, 0, 0, 1, 0x08, length] + status.utf8
    }

    private static let wrongStatus = "the status of the answer isn't a number from 100 to 999"

    @Test(
        arguments: ["", "abc", "-5", "+20", "+200", "20", "2000", "099"].map { (head($0), wrongStatus, .other) }
            + [
                (head("103", isLast: true), "the stream ends with an interim answer", .other),
                // GOAWAY with the last stream 0, and with 1 in front of RST_STREAM (RFC 9113, sections 6.8 and 6.4).
                ([0, 0, 8, 7] + [UInt8](repeating: 0, count: 13), "the server refused the stream", .streamRefused),
                (
                    [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8],
                    "the stream was ended with the error CANCEL", .other
                ),
            ] as [([UInt8], String, HTTP2Failure.Kind)]
    )
    func `the first failure of a stream says why it ends`(
        frames: [UInt8],
        description: String,
        kind: HTTP2Failure.Kind
    ) async throws {
        let failures = Mutex<[HTTP2Failure?]>([])
        let connection = EmbeddedChannel()
        try await connection.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        let opened = HTTP2Client.openStream(on: connection, isLast: false) { stream in
            try stream.pipeline.syncOperations.addHandler(
                Errors { error in failures.withLock { $0.append(HTTP2Failure(error)) } }
            )
        }
        connection.embeddedEventLoop.run()
        let stream = try await opened.get()
        let request = HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/")
        stream.write(HTTPRequestPart.head(request), promise: nil)
        stream.writeAndFlush(HTTPRequestPart.end(nil), promise: nil)
        // SETTINGS come first.
        try connection.writeInbound(ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0, 0] + frames))
        connection.embeddedEventLoop.run()
        #expect(failures.withLock { $0.first } == HTTP2Failure(description, kind: kind))
        _ = try? connection.finish()
    }
}
