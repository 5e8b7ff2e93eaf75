import StreamReading
import TestProtocols
import Testing

/// The ClientHello of a client that a proxy with TLS accepts.
struct GreetingReaderTests {
    /// A ClientHello with a name and protocols, in records of `size` bytes.
    private static func hello(_ name: String?, _ protocols: [String]?, padding: Int = 0, size: Int = 1 << 14)
        -> [UInt8]
    {
        var hello = HelloText(name, protocols: protocols)
        if padding > 0 { hello.before.append([0, 21] + HelloText.vector([UInt8](repeating: 0, count: padding), 2)) }
        hello.fragment = size
        return hello.bytes
    }

    private static func outcome(of bytes: [UInt8], step: Int) -> (outcome: GreetingReader.Outcome, read: Int) {
        var reader = GreetingReader()
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + min(step, reader.room))
            let outcome = reader.read(bytes[start..<end].span)
            start = end
            if outcome != .incomplete {
                #expect(reader.bytes == Array(bytes[..<end]))
                return (outcome, end)
            }
        }
        return (.incomplete, start)
    }

    @Test(arguments: [1, 2, 5, 7, 100, 1 << 14])
    func `the whole hello is read, however it is divided`(_ step: Int) {
        let cases: [(String?, [String]?)] = [
            ("api.test", ["h2", "http/1.1"]), ("api.test", nil), (nil, ["http/1.1"]), (nil, nil), ("a", []),
        ]
        for (name, protocols) in cases {
            for size in [1, 3, 50, 1 << 14] {
                let bytes = GreetingReaderTests.hello(name, protocols, padding: 300, size: size)
                let (outcome, read) = GreetingReaderTests.outcome(of: bytes, step: step)
                #expect(outcome == .greeting(name: name, protocols: protocols ?? []))
                #expect(read >= bytes.count - step)
            }
        }
    }

    @Test func `protocols whose names aren't of ASCII are left out`() {
        let bytes = GreetingReaderTests.hello(nil, ["é", "h2", "", "\u{8A}"])
        #expect(GreetingReaderTests.outcome(of: bytes, step: 100).outcome == .greeting(name: nil, protocols: ["h2"]))
    }

    @Test func `a hello that isn't complete is waited for`() {
        let bytes = GreetingReaderTests.hello("api.test", ["h2"])
        for count in 0..<bytes.count {
            #expect(GreetingReaderTests.outcome(of: Array(bytes[..<count]), step: count + 1).outcome == .incomplete)
        }
    }

    @Test func `what is no hello is foreign at its first wrong byte, and so is one that is too long`() {
        let garbage: [[UInt8]] = [
            [0], Array("GET / HTTP/1.1\r\n".utf8), [22, 2], [22, 3, 1, 0, 0], [22, 3, 1, 255, 255],
            [22, 3, 1, 0, 4, 2, 0, 0, 0],
            [23, 3, 3, 0, 1, 0],
        ]
        for bytes in garbage { #expect(GreetingReaderTests.outcome(of: bytes, step: 100).outcome == .foreign) }
        let long = GreetingReaderTests.hello(nil, nil, padding: 17_000)
        let (outcome, read) = GreetingReaderTests.outcome(of: long, step: 1_000)
        #expect(outcome == .foreign)
        #expect(read == GreetingReader.sizeLimit)
        var broken = GreetingReaderTests.hello(nil, ["h2"])
        broken[broken.count - 3] = 99
        #expect(GreetingReaderTests.outcome(of: broken, step: 100).outcome == .foreign)
    }

    @Test func `changed hellos never trap`() {
        var generator = SystemRandomNumberGenerator()
        let bytes = GreetingReaderTests.hello("api.test", ["h2", "http/1.1"], padding: 20)
        for _ in 0..<20_000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                changed[Int.random(in: 0..<changed.count, using: &generator)] = UInt8.random(
                    in: 0...255,
                    using: &generator
                )
            }
            _ = GreetingReaderTests.outcome(of: changed, step: Int.random(in: 1...200, using: &generator))
        }
    }
}
