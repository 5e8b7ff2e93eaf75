import StreamReading
import TestProtocols
import Testing
import Units

/// First bytes that are nearly a ClientHello or a request.
@Suite struct NameGarbageTests {
    private static let samples: [[UInt8]] = {
        var split = HelloText("a.example")
        split.fragment = 40
        return [
            HelloText("a.example").bytes, split.bytes, HelloText(nil).bytes,
            Array("GET / HTTP/1.1\r\nAccept: */*\r\nHost: a.example\r\n\r\n".utf8),
        ]
    }()

    private func garbage(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = Self.samples[Int(generator.next() % 4)]
        switch generator.next() % 4 {
        case 0:
            let count = Int(generator.next() % 60)
            bytes = [22, 3] + (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        case 1:
            bytes.removeLast(Int(generator.next() % UInt64(bytes.count + 1)))
        case 2:
            let place = Int(generator.next() % UInt64(bytes.count))
            bytes.remove(at: place)
        default:
            for _ in 0...(generator.next() % 4) {
                let value = [0, 1, 255, UInt8(truncatingIfNeeded: generator.next())][Int(generator.next() % 4)]
                bytes[Int(generator.next() % UInt64(bytes.count))] = value
            }
        }
        return bytes
    }

    @Test func `a hundred thousand changed beginnings have a name, none, or need more, whatever the reads`() {
        var generator = SeededGenerator(seed: 43)
        var (names, others) = (0, 0)
        for number in 0..<100_000 {
            let bytes = garbage(&generator)
            let result = name(in: bytes)
            if case .name(let text) = result.outcome {
                names += 1
                if text.isEmpty || text.utf8.count > 253 { Issue.record("\(text) of \(bytes)") }
            } else {
                others += 1
            }
            guard number % 20 == 0 else { continue }
            let slow = name(in: bytes, readSize: 1 + Int(generator.next() % 40))
            if slow.outcome != result.outcome { Issue.record("\(slow.outcome), not \(result.outcome), of \(bytes)") }
        }
        #expect(names > 1_000 && others > 1_000)
    }
}
