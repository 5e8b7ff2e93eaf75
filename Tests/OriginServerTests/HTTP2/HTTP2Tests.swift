import NIOCore
import OriginServer
import TestStreams
import Testing

/// HTTP/2 requests and connections.
@Suite(.timeLimit(.minutes(2))) struct HTTP2Tests {
    @Test func `requests on one connection are answered as by HTTP 1`() async throws {
        try await SecureOrigin.withPeer { peer, _ in
            let full = try await peer.exchange(1)
            #expect(full.status == 200)
            #expect(full.content == TestOrigin.content)
            #expect(full["connection"] == nil)
            let part = try await peer.exchange(3, "GET", "/file.bin", [("range", "bytes=-10")])
            #expect(part.status == 206)
            #expect(part["content-range"] == "bytes 990-999/1000")
            #expect(part.content == Array(TestOrigin.content.suffix(10)))
            let head = try await peer.exchange(5, "HEAD")
            #expect(head.status == 200)
            #expect(head["content-length"] == "1000")
            #expect(head.content.isEmpty)
            let same = [("if-none-match", try #require(full["etag"]))]
            #expect(try await peer.exchange(7, "GET", "/file.bin", same).status == 304)
            #expect(try await peer.exchange(9, "GET", "/none").status == 404)
            #expect(try await peer.exchange(11, "DELETE").status == 405)
            #expect(try await peer.exchange(13, "BREW").status == 501)
            #expect(try await peer.exchange(15, "GET", "/" + String(repeating: "a", count: 9_000)).status == 414)
        }
    }

    @Test func `a request may have no authority but a Host, and needs one of them`() async throws {
        try await SecureOrigin.withPeer { peer, _ in
            let bare: HTTP2Peer.Block = [(":method", "GET"), (":scheme", "https"), (":path", "/file.bin")]
            try await peer.request(1, pseudo: bare + [("host", "127.0.0.1")])
            #expect(try await peer.response(1).status == 200)
            try await peer.request(3, pseudo: bare)
            #expect(try await peer.response(3).status == 400)
            try await peer.request(5, pseudo: bare + [(":authority", "a/b")])
            #expect(try await peer.response(5).status == 400)
        }
    }

    static let malformed: [(String, HTTP2Peer.Block)] = [
        ("uppercase", [("X-Upper", "a")]), ("connection", [("connection", "close")]),
        ("keep-alive", [("keep-alive", "5")]), ("upgrade", [("upgrade", "h2c")]),
        ("proxy-connection", [("proxy-connection", "close")]),
        ("transfer-encoding", [("transfer-encoding", "chunked")]),
        ("te", [("te", "gzip")]), ("pseudo-header behind", [(":path", "/other")]),
        ("unknown pseudo-header", [(":a", "b")]),
        ("line feed", [("a", "b\nc")]), ("negative length", [("content-length", "-1")]),
        ("two lengths", [("content-length", "1"), ("content-length", "2")]),
    ]

    /// RFC 9113, sections 8.1.1 and 8.2.
    @Test(arguments: malformed.indices)
    func `a malformed request is reset, and its connection stays open`(_ index: Int) async throws {
        try await SecureOrigin.withPeer { peer, _ in
            let (name, fields) = Self.malformed[index]
            try await peer.request(1, "GET", "/file.bin", fields)
            let response = try await peer.response(1)
            #expect(response.reset == 1, "\(name): \(response)")
            #expect(response.heads.isEmpty)
            #expect(try await peer.exchange(3).status == 200)
        }
    }

    @Test func `a request beyond the limit of streams is refused, and the others are answered`() async throws {
        var limits = OriginLimits.patient
        limits.concurrentRequests = 4
        try await SecureOrigin.withPeer(limits: limits, takesUploads: true, acknowledgesSettings: false) { peer, _ in
            #expect(peer.settings[3] == 4)
            // Uploads that wait for their content.
            for stream in stride(from: 1, through: 7, by: 2) {
                try await peer.request(stream, "PUT", "/\(stream).bin", [("content-length", "3")], ends: false)
            }
            try await peer.request(9)
            let refused = try await peer.response(9)
            #expect(refused.reset == 7, "\(refused)")
            for stream in stride(from: 1, through: 7, by: 2) {
                try await peer.content(stream, [1, 2, 3], ends: true)
                #expect(try await peer.response(stream).status == 201)
            }
            #expect(try await peer.exchange(11).status == 200)
        }
    }

    @Test func `a client that has acknowledged the limit of streams, and breaks it, loses its connection`() async throws
    {
        var limits = OriginLimits.patient
        limits.concurrentRequests = 4
        try await SecureOrigin.withPeer(limits: limits, takesUploads: true) { peer, _ in
            for stream in stride(from: 1, through: 9, by: 2) {
                try await peer.request(stream, "PUT", "/\(stream).bin", [("content-length", "3")], ends: false)
            }
            await peer.rest()
            #expect(peer.goAway?.code == 1)
        }
    }

    @Test func `a hundred requests on one connection`() async throws {
        try await SecureOrigin.withPeer { peer, _ in
            var open: [Int] = []
            for number in 0..<100 {
                if open.count == 16 {
                    #expect(try await peer.response(open.removeFirst()).content == TestOrigin.content)
                }
                open.append(2 * number + 1)
                try await peer.request(2 * number + 1)
            }
            for stream in open { #expect(try await peer.response(stream).content == TestOrigin.content) }
        }
    }

    @Test func `a stream that isn't read holds up no other`() async throws {
        let large = [UInt8](repeating: 7, count: 400_000)
        try await SecureOrigin.withPeer(["large.bin": large, "file.bin": TestOrigin.content]) { peer, _ in
            peer.starved = [1]
            try await peer.request(1, "GET", "/large.bin")
            for stream in stride(from: 3, through: 9, by: 2) {
                #expect(try await peer.exchange(stream, "GET", "/large.bin").content == large)
            }
            let before = peer.streams[1]
            #expect(before?.isOver == false)
            #expect(before?.content.count ?? 0 <= 65_535)
            peer.starved = []
            try await peer.open(1, by: 400_000)
            #expect(try await peer.response(1).content == large)
        }
    }

    @Test func `a response that isn't read for too long ends only its stream`() async throws {
        var limits = OriginLimits.patient
        limits.stallTimeout = .milliseconds(100)
        let large = [UInt8](repeating: 7, count: 400_000)
        try await SecureOrigin.withPeer(["large.bin": large], limits: limits) { peer, _ in
            peer.starved = [1]
            try await peer.request(1, "GET", "/large.bin")
            #expect(try await peer.response(1).reset != nil)
            #expect(try await peer.exchange(3, "HEAD", "/large.bin").status == 200)
        }
    }

    @Test func `a head that is too large ends the connection`() async throws {
        try await SecureOrigin.withPeer { peer, _ in
            #expect(peer.settings[6] == 32_768)
            let value = String(repeating: "v", count: 15_000)
            try await peer.request(1, "GET", "/file.bin", [("a", value)])
            #expect(try await peer.response(1).status == 200)
            var rest = try peer.encoded([("a", value), ("b", value), ("c", value)])
            let first = rest.readSlice(length: 16_384) ?? ByteBuffer()
            try await peer.send(HTTP2Frame(kind: .headers, flags: HTTP2Frame.endStream, stream: 3, payload: first))
            while let piece = rest.readSlice(length: min(16_384, rest.readableBytes)), piece.readableBytes > 0 {
                let flags = rest.readableBytes == 0 ? HTTP2Frame.endHeaders : 0
                guard
                    (try? await peer.send(HTTP2Frame(kind: .continuation, flags: flags, stream: 3, payload: piece)))
                        != nil
                else { break }
            }
            await peer.rest()
            #expect(peer.goAway != nil)
            #expect(peer.streams[3]?.heads.isEmpty != false)
        }
    }

    @Test func `more fields than permitted are 431`() async throws {
        try await SecureOrigin.withPeer { peer, _ in
            let fields = (0..<101).map { (name: "x\($0)", value: "") }
            let many = try await peer.exchange(1, "GET", "/file.bin", fields)
            #expect(many.status == 431)
            let fewer = try await peer.exchange(3, "GET", "/file.bin", Array(fields.prefix(95)))
            #expect(fewer.status == 200)
        }
    }

    /// CVE-2023-44487, and the flood of CONTINUATION frames (VU#421644).
    @Test(arguments: ["reset", "continuation", "ping", "settings", "empty data", "malformed"])
    func `a flood of frames ends the connection`(kind: String) async throws {
        try await SecureOrigin.withPeer(takesUploads: true) { peer, origin in
            if kind == "continuation" {
                try await peer.send(HTTP2Frame(kind: .headers, stream: 1, payload: peer.encoded([(":method", "GET")])))
            }
            if kind == "empty data" {
                try await peer.request(1, "PUT", "/a.bin", [("content-length", "10")], ends: false)
            }
            var count = 0
            while count < 10_000 {
                count += 1
                let stream = 2 * count - 1
                do {
                    switch kind {
                    case "reset":
                        try await peer.request(stream)
                        try await peer.reset(stream)
                    case "malformed": try await peer.request(stream, "GET", "/file.bin", [("connection", "close")])
                    case "continuation":
                        let piece = try peer.encoded([("a", "\(count)")])
                        try await peer.send(HTTP2Frame(kind: .continuation, stream: 1, payload: piece))
                    case "ping":
                        try await peer.send(HTTP2Frame(kind: .ping, payload: ByteBuffer(integer: 0, as: UInt64.self)))
                    case "settings": try await peer.send(HTTP2Frame(kind: .settings))
                    default: try await peer.send(HTTP2Frame(kind: .data, stream: 1))
                    }
                } catch {
                    break
                }
            }
            await peer.rest()
            // Unread bytes make the kernel send a reset, which may overtake the frame.
            #expect(peer.goAway == nil || peer.goAway?.code == 11, "\(String(describing: peer.goAway))")
            #expect(await eventually { origin.server.connectionCount == 0 })
        }
    }

    @Test func `a connection beyond the limit gets a refusal as its first response, and is closed`() async throws {
        var limits = OriginLimits.patient
        limits.connections = 1
        limits.refusedConnections = 1
        try await SecureOrigin.with(limits: limits) { origin, authority in
            let port = origin.server.address.port
            try await HTTP2Peer.with(port: port, trusting: authority) { first in
                #expect(try await first.exchange(1).status == 200)
                try await HTTP2Peer.with(port: port, trusting: authority) { second in
                    let refused = try await second.exchange(1)
                    #expect(refused.status == 503)
                    #expect(refused["retry-after"] != nil)
                    await second.rest()
                    #expect(second.goAway == HTTP2Peer.GoAway(lastStream: 1, code: 0))
                }
                #expect(try await first.exchange(3).status == 200)
            }
        }
    }

    /// The digest of a 1 TiB file takes much longer than the test.
    @Test func `a response is abandoned when its client has reset the stream`() async throws {
        var limits = OriginLimits.patient
        limits.digestTimeout = .hours(1)
        try await SecureOrigin.withPeer(limits: limits) { peer, origin in
            try origin.writeSparse(1 << 40, to: "huge.bin")
            try await peer.request(1, "GET", "/huge.bin", [("want-repr-digest", "sha-256=9")])
            try await peer.settle()
            try await peer.reset(1)
            #expect(await origin.records.next()?.ending == .disconnected)
            #expect(try await peer.exchange(3).status == 200)
        }
    }

    @Test func `a shutdown lets responses in progress finish, and accepts no more requests`() async throws {
        let large = [UInt8](repeating: 7, count: 400_000)
        var limits = OriginLimits.patient
        limits.shutdownTimeout = .hours(1)
        try await SecureOrigin.withPeer(["large.bin": large], limits: limits) { peer, origin in
            peer.starved = [1]
            try await peer.request(1, "GET", "/large.bin")
            _ = try await peer.head(of: 1)
            let server = origin.server
            async let shutdown: Void = server.shutdown()
            while peer.goAway == nil { try await peer.receive() }
            #expect(peer.goAway == HTTP2Peer.GoAway(lastStream: 1, code: 0))
            peer.starved = []
            try await peer.open(1, by: 400_000)
            #expect(try await peer.response(1).content == large)
            await peer.rest()
            await shutdown
        }
    }
}
