import StreamReading
import TestProtocols
import Testing

/// The name in a TLS ClientHello.
@Suite struct ClientHelloTests {
    @Test func `the name of a recorded hello is known whatever the reads`() {
        for size in [1, 2, 3, 5, 100, 200, .max] {
            #expect(name(in: HelloText.recorded, readSize: size).outcome == .name("Recorded.Example.com"), "\(size)")
        }
    }

    @Test func `a hello split in two anywhere has its name once it has come, and not before`() {
        let bytes = HelloText("a.example").bytes
        let needed = name(in: bytes, readSize: 1).read
        #expect(needed < bytes.count)
        for place in 1..<bytes.count {
            var reader = NameReader()
            let first = reader.read(bytes.span.extracting(..<place))
            #expect(first == (place < needed ? .incomplete : .name("a.example")), "\(place)")
            if first == .incomplete { #expect(reader.read(bytes.span.extracting(place...)) == .name("a.example")) }
        }
    }

    @Test(arguments: [
        (HelloText("a.example").bytes, true), (HelloText(nil).bytes, true), ([22, 3, 1, 0, 9, 1], true),
        ([22, 3, 1, 0, 9, 2], false), ([22, 4], false), (Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), false),
        ([], false),
    ])
    func `other bytes are no hello, with a name or without`(bytes: [UInt8], isHello: Bool) {
        var reader = NameReader()
        _ = reader.read(bytes.span)
        #expect(reader.isClientHello == isHello)
    }

    @Test(arguments: [1, 2, 4, 5, 37, 100, 1_400]) func `a hello may be split over records`(fragment: Int) {
        var hello = HelloText("a.example")
        hello.fragment = fragment
        hello.before.append(HelloText.keyShare(1_800))
        for size in [1, 1_448, .max] { #expect(name(in: hello.bytes, readSize: size).outcome == .name("a.example")) }
    }

    @Test(arguments: ["EXAMPLE.com", "example.com.", "xn--bcher-kva.example", "a_b", "192.0.2.7", "::1"])
    func `a name is as the client sends it`(text: String) {
        #expect(name(in: HelloText(text).bytes).outcome == .name(text))
    }

    @Test(arguments: ["", "bücher.example", "a b", "a\0b", "a:1", String(repeating: "a", count: 254)])
    func `what is no name counts as none`(text: String) {
        #expect(name(in: HelloText(text).bytes).outcome == .none)
    }

    @Test func `the first host name of the list counts`() {
        var hello = HelloText(nil)
        hello.serverName = HelloText.list([(7, [1, 2]), (0, [97]), (0, [98])])
        #expect(name(in: hello.bytes).outcome == .name("a"))
        hello.serverName = HelloText.list([(7, [1, 2])])
        #expect(name(in: hello.bytes).outcome == .none)
        hello.serverName = []
        #expect(name(in: hello.bytes).outcome == .none)
    }

    @Test func `a hello without a name or without extensions has none`() {
        #expect(name(in: HelloText(nil).bytes).outcome == .none)
        var message = [1, 0, 0, 38, 3, 3] + [UInt8](repeating: 0, count: 32)
        message += [0, 0, 2, 0]
        #expect(name(in: [22, 3, 1, 0, UInt8(message.count)] + message).outcome == .none)
    }

    @Test(arguments: [
        // The length of the message, of the session, of the extensions, of one extension, of the list, of the name.
        (8, 1), (43, 255), (85, 9), (89, 200), (103, 9), (106, 200),
    ])
    func `a length that doesn't fit ends the search`(place: Int, value: UInt8) {
        var bytes = HelloText("a.example").bytes
        bytes[place] = value
        #expect(name(in: bytes).outcome == .none)
        #expect(name(in: bytes, readSize: 1).outcome == .none)
    }

    @Test(arguments: [
        [22, 2], [22, 3, 1, 0, 0], [22, 3, 1, 0x40, 1], [22, 3, 1, 0, 4, 2], [23, 3, 3], [128, 46, 1],
    ])
    func `other records end it at once`(bytes: [UInt8]) {
        #expect(name(in: bytes).outcome == .none)
    }

    @Test func `the record after the first part must go on with the hello`() {
        var hello = HelloText("a.example")
        hello.fragment = 50
        var bytes = hello.bytes
        bytes[55] = 23
        #expect(name(in: bytes).outcome == .none)
        #expect(name(in: bytes, readSize: 1).read == 56)
    }

    @Test func `16 KiB are read, and no more`() {
        var hello = HelloText("a.example")
        let least = name(in: hello.bytes, readSize: 1).read
        hello.before.append(HelloText.keyShare(NameReader.sizeLimit - least))
        #expect(name(in: hello.bytes).outcome == .name("a.example"))
        hello.before.append([0x1A, 0x1A, 0, 0])
        let result = name(in: hello.bytes, readSize: 1_000)
        #expect(result.outcome == .none)
        #expect(result.read == NameReader.sizeLimit)
    }
}
