import NIOCore
import NIOHTTPTypes
import Synchronization
import TestStreams
import Testing

@testable import TransferClient

@Suite struct UploadBodyWriterTests {
    @Test func `content isn't written further than 1 MiB before the connection's loop has handled it`() async throws {
        let length = 10 << 20
        let engine = TransferEngine(configuration: TransferClientConfiguration())
        let content = UploadContent(kind: .hashed(try await HashedContent(testBytes(length), engine.worker)))
        let writer = UploadBodyWriter(
            content,
            0..<Int64(length),
            completes: true,
            awaitsInterimResponse: false,
            beforeCompletion: {},
            onProgress: { _ in }
        )
        let (outbound, sink) = NIOAsyncChannelOutboundWriter<HTTPRequestPart>.makeTestingWriter()
        let sent = Mutex<[Int64]>([])
        await writer.run(through: outbound) {
            sent.withLock { $0.append(writer.sent) }
        } close: {
            Issue.record("the content can't be read")
        }
        outbound.finish()
        var received = 0
        for try await case .body(let part) in sink { received += part.readableBytes }
        #expect(received == length)
        #expect(sent.withLock { $0 } == (1...10).map { $0 * Int64(UploadBodyWriter.maximumUnhandledBytes) })
    }
}
