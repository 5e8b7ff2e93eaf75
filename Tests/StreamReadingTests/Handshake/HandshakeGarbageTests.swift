import StreamReading
import Testing
import Units

/// Bytes that are no handshake, or nearly one.
@Suite struct HandshakeGarbageTests {
    private static let samples: [[UInt8]] =
        [
            "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
            "GET http://example.com/a HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic YTpi\r\n\r\n",
            "POST http://[::1]:80/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
        ].map { Array($0.utf8) } + [
            [5, 1, 0, 5, 1, 0, 3, 1, 97, 0, 80], [5, 2, 0, 2, 1, 1, 97, 1, 98, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80],
            [4, 1],
            [5, 1, 0, 5, 1, 0, 4] + [UInt8](repeating: 0, count: 15) + [1, 0, 80],
        ]

    private func garbage(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = Self.samples.randomElement(using: &generator) ?? []
        switch generator.next() % 4 {
        case 0:
            bytes = (0..<Int(generator.next() % 300)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        case 1:
            for _ in 0...(generator.next() % 8) where !bytes.isEmpty {
                bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
            }
        case 2:
            bytes.removeLast(Int(generator.next() % UInt64(bytes.count + 1)))
            bytes += Self.samples.randomElement(using: &generator) ?? []
        default:
            let place = Int(generator.next() % UInt64(bytes.count + 1))
            let piece: [UInt8] =
                [[13], [10], [0], [255], [32], [58], [5], Array("Content-Length: 5\r\n".utf8)]
                .randomElement(using: &generator) ?? []
            let count = generator.next() % 5 == 0 ? ProxyHandshake.sizeLimit : 1
            bytes.insert(contentsOf: (0..<count).flatMap { _ in piece }, at: place)
        }
        return bytes
    }

    @Test func `ten thousand garbage handshakes end in an error, a target, or a wait for more, whatever the reads`() {
        var generator = SeededGenerator(seed: 21)
        var (targets, failures) = (0, 0)
        for _ in 0..<10_000 {
            let bytes = garbage(&generator)
            let password = generator.next() % 3 == 0 ? "b" : nil
            let run = HandshakeRun(bytes, password: password)
            let slow = HandshakeRun(bytes, password: password, readSize: 1 + Int(generator.next() % 40))
            #expect(run.outcome == slow.outcome)
            #expect(run.replies == slow.replies)
            #expect(run.replies.count < 1_000)
            switch run.outcome {
            case .incomplete:
                #expect(run.handshake.room > 0)
            case .failed:
                failures += 1
                #expect(!run.replies.isEmpty)
            case .target(let target):
                targets += 1
                #expect((1...255).contains(target.host.utf8.count) && target.port > 0)
                #expect(target.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
                // The rewriting adds a host, and at most a colon's space for each line.
                #expect(run.handshake.firstBytes.count <= 2 * ProxyHandshake.sizeLimit)
            }
        }
        #expect(targets > 200 && failures > 1_000)
    }
}
