import EventLoop
import FaultPlan
import Glibc
import OperatingSystem
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile
@testable import ProxyEngine

/// Which ends of a connection are Unix sockets.
struct Ends: CustomTestStringConvertible {
    let client: Bool
    let server: Bool

    static let all = [
        Ends(client: false, server: false), Ends(client: false, server: true), Ends(client: true, server: false),
        Ends(client: true, server: true),
    ]
    /// Those with a Unix socket.
    static let unix = Array(all.dropFirst())

    var testDescription: String { "\(client ? "Unix" : "TCP") to \(server ? "Unix" : "TCP")" }
}

@Suite("A proxy with Unix sockets")
struct UnixSocketTests {
    /// Runs `body` with a proxy between such ends, to a server that does `serve`; in the folder are “proxy” and “server”.
    private func withProxy<Result>(
        _ ends: Ends,
        _ profile: Profile = Profile(name: "plain"),
        drainLimits: DrainLimits? = nil,
        serve: @escaping @Sendable (TestSocket) throws -> Void = { socket in
            while case let part = try socket.receive(1 << 16), !part.isEmpty { try socket.send(part) }
        },
        _ body: (Fixture, Folder) async throws -> Result
    ) async throws -> Result {
        let folder = try Folder()
        let server = TestServer(at: ends.server ? try folder.address("server").unix : nil, serve: serve)
        defer { server.stop() }
        let listen = ends.client ? try folder.address("proxy").unix.map { Endpoint(unix: $0) } : nil
        let result = try await ProxyEngineTests.withProxy(
            to: server.address,
            profile,
            listen: listen ?? Endpoint(host: "127.0.0.1", port: 0),
            drainLimits: drainLimits
        ) { try await body($0, folder) }
        #expect(!folder.names.contains("proxy"))
        return result
    }

    @Test(arguments: Ends.all)
    func `passes every byte, both ways at once, and each end of a stream for itself`(ends: Ends) async throws {
        let up = testBytes(3 << 20, seed: 1)
        let down = testBytes(5 << 20, seed: 2)
        let received = Slot<[UInt8]>()
        let serve: @Sendable (TestSocket) throws -> Void = { socket in
            try socket.send(down)
            socket.endWriting()
            // The end of its own stream has come long before, and the client goes on.
            received.put(socket.receiveAll().bytes)
        }
        try await withProxy(ends, serve: serve) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                let answer = client.receiveAll(1 << 20)
                #expect(isSame(answer.bytes, as: down))
                #expect(answer.ending == .finish)
                try client.send(up)
                client.endWriting()
                #expect(isSame(try received.next(), as: up))
            }
            #expect(await fixture.becomesIdle())
            #expect(fixture.events.rest.isEmpty)
        }
    }

    @Test(arguments: Ends.unix)
    func `lets a client that has ended its stream have the answer`(ends: Ends) async throws {
        let serve: @Sendable (TestSocket) throws -> Void = { socket in
            let request = socket.receiveAll()
            try socket.send(request.bytes.reversed())
        }
        var limits = DrainLimits()
        limits.lookInterval = .milliseconds(1)
        limits.goneGrace = .zero
        try await withProxy(
            ends,
            Profile([.latency(Latency(delay: .milliseconds(100)))], on: .downstream),
            drainLimits: limits,
            serve: serve
        ) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                try client.send([1, 2, 3])
                client.endWriting()
                #expect(client.receiveAll().bytes == [3, 2, 1])
            }
        }
    }

    @Test(arguments: Ends.unix, [Cut.Ending.close, .reset])
    func `cuts at the exact byte, for both ends`(ends: Ends, how: Cut.Ending) async throws {
        let content = testBytes(1 << 20)
        let seen = Slot<StreamEnding>()
        let serve: @Sendable (TestSocket) throws -> Void = { socket in
            _ = try socket.receive(1)
            socket.sendUntilBroken(content)
            seen.put(socket.receiveAll().ending)
        }
        let cut = Cut(position: .at(.kibibytes(100)), how: how)
        try await withProxy(ends, Profile([.cut(cut)], on: .downstream), serve: serve) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                try client.send([1])
                // As many as the system holds for a client that takes its time.
                #expect(client.waitUntilReadable())
                let answer = client.receiveAll(1_000)
                #expect(isSame(answer.bytes, as: Array(content.prefix(100 << 10))))
                // A Unix socket has no reset for a client of which everything was taken.
                #expect(answer.ending == (how == .reset && !ends.client ? .reset : .finish))
                // Which of its calls the server hears it from depends on what was unread then.
                #expect([.reset, .finish].contains(try seen.next()))
            }
            #expect(await fixture.becomesIdle())
            #expect(fixture.events.rest.isEmpty)
        }
    }

    @Test(arguments: [Ends(client: true, server: false), Ends(client: true, server: true)])
    func `resets a client that has sent what nobody took, behind the last byte`(ends: Ends) async throws {
        let sent = Slot<Bool>()
        let serve: @Sendable (TestSocket) throws -> Void = { socket in
            _ = try sent.next()
            try socket.send([1, 2, 3, 4])
            _ = socket.receiveAll()
        }
        let faults: [Fault] = [
            Fault(name: "stall", stream: .upstream, kind: .stall(Stall(at: .zero, duration: .seconds(600)))),
            Fault(
                name: "cut",
                stream: .downstream,
                kind: .cut(Cut(position: .at(ByteCount(3)), how: .reset))
            ),
        ]
        try await withProxy(ends, Profile(name: "test", faults: faults), serve: serve) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                try client.send([1])
                sent.put(true)
                let answer = client.receiveAll()
                #expect(answer.bytes == [1, 2, 3])
                #expect(answer.ending == .reset)
            }
        }
    }

    @Test(arguments: Ends.unix)
    func `delays and stalls as it does on TCP`(ends: Ends) async throws {
        let latency = Profile([.latency(Latency(delay: .milliseconds(50)))], on: .downstream)
        try await withProxy(ends, latency) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                for _ in 0..<4 {
                    let time = try duration {
                        try client.send([1])
                        #expect(try client.receive(1) == [1])
                    }
                    #expect(time >= .milliseconds(50))
                }
            }
        }
        let stall = Stall(at: ByteCount(10), duration: .milliseconds(100))
        try await withProxy(ends, Profile([.stall(stall)], on: .upstream)) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                let time = try duration {
                    try client.send(Array(0..<20))
                    #expect(try client.receive(exactly: 20) == Array(0..<20))
                }
                #expect(time >= .milliseconds(100))
            }
        }
    }

    @Test(arguments: [Ends(client: true, server: false), Ends(client: true, server: true)])
    func `refuses in an outage, and is there again afterwards`(ends: Ends) async throws {
        let length = Duration.seconds(2)
        let phases = [Phase("away", length, .refuse), Phase("back", nil)]
        try await withProxy(ends, Profile([], phases: phases)) { fixture, folder in
            try await blocking {
                let code = TestSocket.errnoOfConnecting(to: fixture.proxy.address)
                let isThere = folder.names.contains("proxy")
                // On a busy machine it may be over by now.
                if MonotonicClock.now < fixture.proxy.started + length { #expect(code == ECONNREFUSED && isThere) }
                while case .failure(let error) = TestSocket.connected(to: fixture.proxy.address) {
                    #expect([ECONNREFUSED, ENOENT].contains(error.code))
                }
                let client = try fixture.client()
                try client.send([1])
                #expect(try client.receive(1) == [1])
            }
        }
    }

    @Test(arguments: Ends.unix)
    func `carries 200 connections`(ends: Ends) async throws {
        try await withProxy(ends) { fixture, _ in
            let clients = try await fixture.answeredClients(200)
            #expect(clients.count == 200)
        }
    }

    @Test
    func `waits for room in the queue of a server`() async throws {
        let folder = try Folder()
        let address = try folder.address()
        let server = TestSocket.listening(at: try #require(address.unix), backlog: 0)
        try await ProxyEngineTests.withProxy(to: address) { fixture in
            try await blocking {
                let clients = try (0..<3).map { _ in try fixture.client() }
                for client in clients { try client.send([7]) }
                for _ in clients {
                    let accepted = try server.accepted()
                    #expect(try accepted.receive(1) == [7])
                }
            }
            #expect(fixture.events.rest.isEmpty)
        }
    }

    @Test
    func `tells of a server that isn't there, and resets the client`() async throws {
        let folder = try Folder()
        let address = try folder.address()
        let refusing = try folder.address("stale")
        TestSocket.listening(at: try #require(refusing.unix)).close()
        for (address, reason) in [(address, "No such file"), (refusing, "Connection refused")] {
            try await ProxyEngineTests.withProxy(to: address) { fixture in
                try await blocking {
                    #expect(try fixture.client().receiveAll().ending == .reset)
                    let text = try fixture.events.next().description
                    #expect(text.hasPrefix("can't reach the upstream \(address): \(reason)"))
                }
            }
        }
    }

    @Test
    func `lets go of a client that has closed while nothing passes`() async throws {
        var limits = DrainLimits()
        limits.lookInterval = .milliseconds(1)
        limits.goneGrace = .milliseconds(1)
        let ended = Slot<StreamEnding>()
        // The server keeps its connection for 30 s, and never says a word.
        let serve: @Sendable (TestSocket) throws -> Void = { socket in
            let ending = socket.receiveAll().ending
            ended.put(ending == .reset ? .reset : socket.waitUntilBroken())
        }
        let ends = Ends(client: true, server: false)
        try await withProxy(ends, drainLimits: limits, serve: serve) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                try client.send([1])
                client.close()
                #expect(try ended.next() == .reset)
            }
            #expect(await fixture.becomesIdle())
        }
    }

    @Test
    func `has no clients in any range of addresses`() async throws {
        let ranges = [try AddressRange(parsing: "0.0.0.0/0"), try AddressRange(parsing: "::/0")]
        let fault = Fault(
            name: "cut",
            condition: Condition(clients: ranges),
            kind: .cut(Cut(position: .at(.zero), how: .reset))
        )
        try await withProxy(
            Ends(client: true, server: false),
            Profile(name: "test", faults: [fault])
        ) { fixture, _ in
            _ = try await fixture.answeredClients(1)
            #expect(fixture.journal.rest.isEmpty)
        }
    }

    @Test
    func `that leads back to itself is found by its file, however the path is written`() async throws {
        let folder = try Folder()
        let listen = try folder.address("a")
        #expect(symlink("a", "\(folder.path)/link") == 0)
        let paths = ["a", "./a", "../\(folder.url.lastPathComponent)/a"]
        for path in paths {
            let route = ProxyRoute(id: 1, name: "p", listen: [listen], upstream: [try folder.address(path)])
            #expect(route.leads(to: route, ownHosts: []), "\(path)")
        }
        let server = TestSocket.listening(at: try #require(listen.unix))
        for path in paths + ["link"] {
            let route = ProxyRoute(id: 1, name: "p", listen: [listen], upstream: [try folder.address(path)])
            #expect(route.leads(to: route, ownHosts: []), "\(path)")
        }
        server.close()
        for other in [try folder.address("b"), loopback(port: 80), SocketAddress(unix: try .init(parsing: "unix:@a"))] {
            let route = ProxyRoute(id: 1, name: "p", listen: [listen], upstream: [other])
            #expect(!route.leads(to: route, ownHosts: []), "\(other)")
        }
    }
}
