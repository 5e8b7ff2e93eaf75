import EventLoop
import FaultPlan
import Foundation
import OperatingSystem
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// Captures, read back block by block.
struct CaptureTests {
    /// A packet of a capture.
    private struct Packet {
        var interface: Int
        var isInbound: Bool
        var flags: UInt8
        var sequence: Int
        var acknowledgement: Int
        var content: [UInt8]
        var length: Int
        var addresses: [[UInt8]]
        var comments: [String]

        static let (fin, syn, rst): (UInt8, UInt8, UInt8) = (1, 2, 4)
    }

    private static func number(_ bytes: ArraySlice<UInt8>, bigEndian: Bool = false) -> Int {
        (bigEndian ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | Int($1) }
    }

    /// The packets of a file, all of whose blocks are well formed.
    private static func packets(_ file: [UInt8]) throws -> [Packet] {
        var packets: [Packet] = []
        var rest = file[...]
        while !rest.isEmpty {
            let size = number(rest.dropFirst(4).prefix(4))
            try #require(size % 4 == 0 && size >= 12 && size <= rest.count)
            let block = Array(rest.prefix(size))
            #expect(number(block.suffix(4)) == size)
            if number(block[0..<4]) == 6 { packets.append(try packet(block)) }
            rest = rest.dropFirst(size)
        }
        return packets
    }

    private static func packet(_ block: [UInt8]) throws -> Packet {
        let captured = number(block[20..<24])
        let data = Array(block[28..<28 + captured])
        let isIPv6 = data[0] >> 4 == 6
        let segment = Array(data[(isIPv6 ? 40 : 20)...])
        // The length that IP tells is that of the whole packet.
        let told = isIPv6 ? 40 + number(data[4..<6], bigEndian: true) : number(data[2..<4], bigEndian: true)
        #expect(told == number(block[24..<28]))
        var comments: [String] = []
        var isInbound = false
        var options = block[(28 + (captured + 3) / 4 * 4)..<(block.count - 4)]
        while options.count >= 4 {
            let (code, length) = (number(options.prefix(2)), number(options.dropFirst(2).prefix(2)))
            let value = options.dropFirst(4).prefix(length)
            if code == 1 { comments.append(String(decoding: value, as: UTF8.self)) }
            if code == 2 { isInbound = value.first == 1 }
            options = options.dropFirst(4 + (length + 3) / 4 * 4)
        }
        return Packet(
            interface: number(block[8..<12]),
            isInbound: isInbound,
            flags: segment[13],
            sequence: number(segment[4..<8], bigEndian: true),
            acknowledgement: number(segment[8..<12], bigEndian: true),
            content: Array(segment[(Int(segment[12] >> 4) * 4)...]),
            length: told - (isIPv6 ? 40 : 20) - Int(segment[12] >> 4) * 4,
            addresses: isIPv6
                ? [Array(data[8..<24]), Array(data[24..<40])] : [Array(data[12..<16]), Array(data[16..<20])],
            comments: comments
        )
    }

    /// The packets that a proxy to `upstream` captures while `body` runs, and until its connections have ended.
    private func captured(
        to upstream: SocketAddress,
        _ profile: Profile = Profile(name: "plain"),
        listen: Endpoint = Endpoint(host: "127.0.0.1", port: 0),
        snap: Int = 262_144,
        connections: ClosedRange<UInt64> = 0...UInt64.max,
        awaitsSecrets: Bool = false,
        _ body: (Fixture) async throws -> Void
    ) async throws -> [Packet] {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("squall-capture-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var settings = Capture.Settings(path: path)
        settings.snap = ByteCount(Int64(snap))
        settings.connections = connections
        let capture = try Capture(settings, whenFailing: { Issue.record("\($0)") })
        if awaitsSecrets { capture.awaitSecrets() }
        capture.begin()
        try await withProxy(to: upstream, profile, listen: listen, capture: capture) { fixture in
            try await body(fixture)
            #expect(await fixture.becomesIdle())
        }
        let end = capture.finish()
        #expect(end.dropped == 0 && end.failure == nil)
        return try CaptureTests.packets([UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
    }

    /// The content that one end of a leg has sent, whose sequence numbers leave nothing out.
    private func stream(_ packets: [Packet], interface: Int, isInbound: Bool) -> [UInt8] {
        var content: [UInt8] = []
        let own = packets.filter { $0.interface == interface && $0.isInbound == isInbound }
        for packet in own {
            let sequence = (packet.sequence - own[0].sequence) & 0xFFFF_FFFF
            if packet.flags & Packet.syn != 0 {
                #expect(sequence == 0)
            } else {
                #expect(sequence <= content.count + 2)
            }
            if !packet.content.isEmpty { #expect(sequence == content.count + 1) }
            content += packet.content
        }
        return content
    }

    @Test func `both legs have every byte, a handshake and an end`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let sent = testBytes(300_000, seed: 3)
        let packets = try await captured(to: server.address) { fixture in
            let client = try fixture.client()
            try await blocking {
                try client.send(sent)
                client.endWriting()
                #expect(isSame(client.receiveAll().bytes, as: sent))
            }
        }
        for (interface, isInbound) in [(0, true), (0, false), (1, true), (1, false)] {
            #expect(isSame(stream(packets, interface: interface, isInbound: isInbound), as: sent))
            let flags = packets.filter { $0.interface == interface && $0.isInbound == isInbound }.map { $0.flags }
            #expect((flags.first ?? 0) & Packet.syn != 0 && flags.contains { $0 & Packet.fin != 0 })
            #expect(!flags.contains { $0 & Packet.rst != 0 })
        }
        #expect(packets.allSatisfy { $0.addresses == [[127, 0, 0, 1], [127, 0, 0, 1]] && $0.comments.isEmpty })
    }

    @Test func `a cut is a comment on the reset, with its offset`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let cut = Profile([.cut(Cut(position: .at(ByteCount(1_000)), how: .reset))], on: .downstream)
        let packets = try await captured(to: server.address, cut) { fixture in
            let client = try fixture.client()
            try await blocking {
                try client.send(testBytes(5_000))
                #expect(client.receiveAll().ending == .reset)
            }
        }
        let commented = packets.filter { !$0.comments.isEmpty }
        #expect(commented.map { $0.flags & Packet.rst } == [Packet.rst] && commented.first?.interface == 0)
        #expect(
            commented.first?.comments.first?.hasPrefix("cut “cut-0” resets, downstream, offset 1000, connection 1, ")
                == true
        )
        #expect(stream(packets, interface: 0, isInbound: false).count == 1_000)
    }

    @Test func `a cut by silence is a comment on the next packet, as no end follows`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        let cut = Profile([.cut(Cut(position: .at(ByteCount(1_000)), how: .silence))], on: .downstream)
        let packets = try await captured(to: server.address, cut) { fixture in
            let client = try fixture.client()
            try await blocking {
                let served = try sockets.next()
                try served.send(testBytes(5_000))
                #expect(try client.receive(exactly: 1_000).count == 1_000)
                _ = try fixture.journal.next()
                client.close()
                served.close()
            }
        }
        let commented = packets.filter { !$0.comments.isEmpty }
        #expect(commented.flatMap(\.comments).map { $0.hasPrefix("cut “cut-0” falls silent, ") } == [true])
        #expect(commented.allSatisfy { $0.flags & (Packet.fin | Packet.rst) == 0 })
    }

    @Test func `an answer to half of an upload is in the capture, in front of the reset`() async throws {
        let answer = testBytes(60_000)
        let server = TestServer { socket in
            _ = try socket.receive(1)
            try socket.send(answer)
            // With unread bytes, so by a reset.
            socket.close()
        }
        defer { server.stop() }
        let slow = Profile([.slowReader(SlowReader(rate: BitRate(bitsPerSecond: 4_000_000)))], on: .downstream)
        let packets = try await captured(to: server.address, slow) { fixture in
            let client = try fixture.client()
            try await blocking {
                Thread.detachNewThread { client.sendUntilBroken(testBytes(8 << 20)) }
                #expect(isSame(client.receiveAll().bytes, as: answer))
            }
        }
        #expect(isSame(stream(packets, interface: 1, isInbound: true), as: answer))
        #expect((packets.last { $0.interface == 1 && $0.isInbound }?.flags ?? 0) & Packet.rst != 0)
    }

    @Test func `a comment has 1,000 characters at most`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let name = String(repeating: "x", count: 70_000)
        let late = Fault(name: name, kind: .latency(Latency(delay: .milliseconds(1))))
        let profile = Profile(name: "test", faults: [late])
        let packets = try await captured(to: server.address, profile) { fixture in
            let client = try fixture.client()
            try await blocking {
                try client.send([1])
                #expect(try client.receive(1) == [1])
                client.close()
            }
        }
        let comments = packets.flatMap(\.comments)
        #expect(!comments.isEmpty && comments.allSatisfy { $0.count == 1_001 })
    }

    @Test func `a server that refuses answers the SYN with a reset`() async throws {
        let (listener, address) = TestSocket.refusing()
        defer { listener.close() }
        let packets = try await captured(to: address) { fixture in
            let client = try fixture.client()
            try await blocking { #expect(client.receiveAll().ending == .reset) }
        }
        let server = packets.filter { $0.interface == 1 }
        #expect(server.map { $0.flags } == [Packet.syn, Packet.rst | 16])
        #expect(packets.last { $0.interface == 0 }?.flags == Packet.rst | 16)
    }

    @Test func `only the first bytes of a packet are kept, with its original length`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let packets = try await captured(to: server.address, snap: 10) { fixture in
            let client = try fixture.client()
            try await blocking {
                try client.send(testBytes(1_000))
                client.endWriting()
                #expect(client.receiveAll().bytes.count == 1_000)
            }
        }
        let contents = packets.filter { $0.length > 0 }
        #expect(contents.allSatisfy { $0.content.count == min(10, $0.length) })
        #expect(contents.reduce(0) { $0 + $1.length } == 4_000)
    }

    @Test func `connections with the numbers are captured, each with sequence numbers of its own`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let packets = try await captured(to: server.address, connections: 2...3) { fixture in
            _ = try await fixture.answeredClients(4)
        }
        let starts = packets.filter { $0.flags == Packet.syn }
        #expect(starts.map { $0.interface }.sorted() == [0, 0, 1, 1])
        let places = starts.map(\.sequence).sorted()
        #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 > 1 << 28 }, "\(places)")
    }

    @Test(arguments: [true, false])
    func `a flight of a handshake waits for the next packet, where it may lead to secrets`(awaits: Bool) async throws {
        let hellos: [[UInt8]] = [[22, 3, 1, 0, 5, 1, 0, 0, 1, 0], [22, 3, 1, 0, 5, 1, 0, 0, 1, 1]]
        let (flight, rest): ([UInt8], [UInt8]) = ([22, 3, 3, 0, 5, 2, 0, 0, 1], [0])
        let other: [UInt8] = [23, 3, 3, 0, 1, 7]
        // More than waits.
        let (bulk, mark): ([UInt8], UInt8) = ([UInt8](repeating: 0, count: (40 << 10) - 1), 255)
        let passed = Slot<Bool>()
        let server = TestServer { socket in
            _ = try socket.receive(exactly: hellos[0].count)
            try socket.send(flight)
            _ = try passed.next()
            try socket.send(rest)
            _ = try passed.next()
            try socket.send(bulk + [mark])
            _ = try socket.receive(exactly: flight.count)
            try socket.send(other)
            _ = socket.receiveAll()
        }
        defer { server.stop() }
        let packets = try await captured(to: server.address, awaitsSecrets: awaits) { fixture in
            let client = try fixture.client()
            try await blocking {
                try client.send(hellos[0])
                #expect(try client.receive(exactly: flight.count) == flight)
                passed.put(true)
                #expect(try client.receive(exactly: rest.count) == rest)
                passed.put(true)
                #expect(try client.receive(exactly: bulk.count + 1).last == mark)
                try client.send(flight)
                #expect(try client.receive(exactly: other.count) == other)
                try client.send(hellos[1])
                client.endWriting()
                _ = client.receiveAll()
            }
        }
        func place(of content: [UInt8], on interface: Int, isInbound: Bool) -> Int? {
            packets.firstIndex { $0.interface == interface && $0.isInbound == isInbound && $0.content == content }
        }
        for (content, isFromClient, waits) in [
            (hellos[0], true, false), (flight, false, true), (rest, false, true), (flight, true, true),
            (other, false, false), (hellos[1], true, false),
        ] {
            let received = try #require(place(of: content, on: isFromClient ? 0 : 1, isInbound: true))
            let sent = try #require(place(of: content, on: isFromClient ? 1 : 0, isInbound: false))
            #expect((received > sent) == (waits && awaits), "\(content)")
        }
        let ends = packets.filter { $0.content.last == mark }
        #expect(ends.map { $0.interface } == [1, 0] && ends.map { $0.isInbound } == [true, false])
        for (interface, isInbound) in [(0, true), (1, false)] {
            #expect(stream(packets, interface: interface, isInbound: isInbound) == hellos[0] + flight + hellos[1])
        }
    }

    @Test func `Unix-domain sockets have addresses that stand for them, and names`() async throws {
        let folder = try Folder()
        let socket = try UnixSocketName(parsing: "unix:\(folder.path)/s")
        let server = TestServer.echo(at: socket)
        defer { server.stop() }
        let packets = try await captured(to: server.address) { fixture in
            _ = try await fixture.answeredClients(1)
        }
        let addresses = Set(packets.filter { $0.interface == 1 }.flatMap { $0.addresses })
        #expect(addresses.count == 2 && addresses.allSatisfy { $0.count == 16 && $0[0] == 1 })
    }
}
