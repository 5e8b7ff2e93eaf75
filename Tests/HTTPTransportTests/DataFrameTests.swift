import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import TLSTransport

/// The memory of DATA frames that wait in the streams of HTTP/2.
@Suite struct DataFrameTests {
    @Test(arguments: [1, 1_000, 16_000, 100_000, 140_000, 262_144])
    func `the payload of a frame retains at most twice its size`(count: Int) throws {
        let channel = EmbeddedChannel(handler: DataFrameCopier())
        var read = channel.allocator.buffer(capacity: 256 << 10)
        read.writeRepeatingByte(7, count: count)
        let sent = HTTP2Frame.FramePayload.Data(data: .byteBuffer(read), endStream: true, paddingBytes: 3)
        try channel.writeInbound(HTTP2Frame(streamID: 1, payload: .data(sent)))
        let frame = try #require(try channel.readInbound(as: HTTP2Frame.self))
        guard case .data(let content) = frame.payload, case .byteBuffer(let kept) = content.data else {
            Issue.record("\(frame)")
            return
        }
        #expect(frame.streamID == 1)
        #expect(content.endStream && content.paddingBytes == 3)
        #expect(kept == read)
        #expect(kept.storageCapacity <= max(64, 2 * count))
    }

    @Test func `a client copies the frames of its connection`() throws {
        let channel = EmbeddedChannel()
        _ = HTTP2Client.openStream(on: channel, isLast: true) { _ in }
        #expect(throws: Never.self) {
            try channel.pipeline.syncOperations.handler(type: DataFrameCopier.self)
        }
    }
}
