import StreamReading
import Testing

/// The handshake of a SOCKS5 client (RFC 1928, RFC 1929).
@Suite struct SOCKSHandshakeTests {
    private static let name = [5, 1, 0, 3, 11] + Array("example.com".utf8) + [1, 187]

    @Test(arguments: [1, 2, .max])
    func `a client without authentication names a target, and sends along what is for the server`(readSize: Int) {
        var run = HandshakeRun([5, 1, 0] + Self.name, readSize: readSize)
        #expect(run.target == "example.com:443")
        #expect(run.replies == [5, 0])
        run.handshake.succeed()
        #expect(run.handshake.takeReply() == [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        #expect(HandshakeRun([5, 2, 2, 0] + Self.name + [1, 2, 3]).first == "\u{1}\u{2}\u{3}")
    }

    @Test(
        arguments: [
            ([5, 1, 0, 1, 192, 0, 2, 7, 0, 80], "192.0.2.7:80"),
            ([5, 1, 0, 4, 0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 80], "[2001:db8::1]:80"),
        ] as [([UInt8], String)]
    )
    func `an address is a target`(request: [UInt8], target: String) {
        #expect(HandshakeRun([5, 1, 0] + request).target == target)
    }

    @Test(arguments: [1, .max])
    func `a password is asked for where there is one, and any is taken where there is none`(readSize: Int) {
        let login = [1, 4] + Array("anna".utf8) + [2] + Array("pw".utf8)
        let run = HandshakeRun([5, 2, 0, 2] + login + Self.name, password: "pw", readSize: readSize)
        #expect(run.target == "example.com:443")
        #expect(run.replies == [5, 2, 1, 0])
        #expect(HandshakeRun([5, 1, 2] + login + Self.name).target == "example.com:443")
        for wrong in ["pW", "pw ", "p", ""] {
            let run = HandshakeRun([5, 1, 2, 1, 0, UInt8(wrong.utf8.count)] + Array(wrong.utf8), password: "pw")
            #expect(run.outcome == .failed)
            #expect(run.replies == [5, 2, 1, 1])
        }
        let none = HandshakeRun([5, 1, 0] + Self.name, password: "pw")
        #expect(none.outcome == .failed)
        #expect(none.replies == [5, 0xFF])
    }

    @Test(
        arguments: [
            ([5, 0], [5, 0xFF]), ([5, 1, 1], [5, 0xFF]), ([4, 1], [0, 0x5B, 0, 0, 0, 0, 0, 0]),
            ([5, 1, 0, 5, 2, 0, 1, 1, 1, 1, 1, 0, 1], [5, 0, 5, 7, 0, 1, 0, 0, 0, 0, 0, 0]),
            ([5, 1, 0, 5, 3, 0, 1, 1], [5, 0, 5, 7, 0, 1, 0, 0, 0, 0, 0, 0]),
            ([5, 1, 0, 5, 1, 0, 9, 1], [5, 0, 5, 8, 0, 1, 0, 0, 0, 0, 0, 0]),
            ([5, 1, 0, 6, 1, 0, 1, 1], [5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0]),
            ([5, 1, 0, 5, 1, 0, 1, 1, 1, 1, 1, 0, 0], [5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0]),
            ([5, 1, 0, 5, 1, 0, 3, 0, 0, 80], [5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0]),
            ([5, 1, 0, 5, 1, 0, 3, 2, 0xFF, 0x20, 0, 80], [5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0]),
        ] as [([UInt8], [UInt8])]
    )
    func `a message that can't be followed gets the code for it`(bytes: [UInt8], reply: [UInt8]) {
        let run = HandshakeRun(bytes)
        #expect(run.outcome == .failed)
        #expect(run.replies == reply)
    }

    @Test(
        arguments: [
            (HandshakeFailure.forbidden, 2), (.networkUnreachable, 3), (.unresolved, 4), (.hostUnreachable, 4),
            (.refused, 5),
            (.timedOut, 6), (.overloaded, 1),
        ] as [(HandshakeFailure, UInt8)]
    )
    func `a target that can't be reached has a code`(failure: HandshakeFailure, code: UInt8) {
        var run = HandshakeRun([5, 1, 0] + Self.name)
        run.handshake.fail(failure, "sentence")
        #expect(run.handshake.takeReply() == [5, code, 0, 1, 0, 0, 0, 0, 0, 0])
    }

    @Test func `a client that is too slow gets a reply only where one is expected`() {
        var run = HandshakeRun([5])
        run.handshake.fail(.tooSlow, "sentence")
        #expect(run.handshake.takeReply() == [])
    }
}
