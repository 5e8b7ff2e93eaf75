import NIOCore
import NIOEmbedded
import Testing

@testable import TLSTransport

struct FirstRecordsTests {
    @Test(arguments: [[200_000], [1_000, 70_000], [4_096, 4_097, 100_000], [0, 5, 300]])
    func `the first bytes go in small records, the others as they come, and none is lost`(sizes: [Int]) throws {
        let channel = EmbeddedChannel(handler: DynamicRecordSizing())
        let bytes = (0..<sizes.reduce(0, +)).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        var start = 0
        for size in sizes {
            try channel.writeOutbound(ByteBuffer(bytes: bytes[start..<start + size]))
            start += size
        }
        var (sent, longest): ([UInt8], Int) = ([], 0)
        while let record = try channel.readOutbound(as: ByteBuffer.self) {
            if sent.count < 64 << 10 { longest = max(longest, record.readableBytes) }
            sent += record.readableBytesView
        }
        #expect(sent == bytes)
        #expect(longest <= 4_096)
        _ = try channel.finish()
    }
}
