import DevelopmentCA
import EventLoop
import FaultProfile
import ProxyEngine
import SquallTransfer
import Synchronization
import TLSTransport
import TestSockets
import TestStreams
import Testing
import Units

/// Connections of `data` and `bytes`, which stay open for the next request.
@Suite(.timeLimit(.minutes(5))) struct KeptConnectionTests {
    /// Runs `body` with the URL of a TLS origin behind a proxy, and returns the number of connections that came.
    private func connections(
        to folder: Folder,
        _ body: (TransferSession, _ url: String) async throws -> Void
    ) async throws -> Int {
        let authority = try DevelopmentCA()
        let tls = try TLSServer(TLSIdentity(authority.identity(for: ["127.0.0.1"])))
        var configuration = TransferConfiguration()
        configuration.tls = try TransferTLS(authorities: authority.certificate)
        let session = TransferSession(configuration: configuration)
        return try await withOrigin(folder, tls: tls) { _, host, port in
            let loops = try EventLoopGroup(count: 1)
            let proxy = try await Proxy.start(
                ProxyConfiguration(
                    name: "test",
                    listen: Endpoint(host: "127.0.0.1", port: 0),
                    upstream: Endpoint(host: host, port: UInt16(port)),
                    profile: Profile(name: "clear"),
                    seed: 7
                ),
                on: loops
            )
            try await body(session, "https://127.0.0.1:\(proxy.address.port)")
            let accepted = await proxy.statistics().accepted
            await proxy.stop()
            await loops.stop()
            return Int(accepted)
        }
    }

    @Test func `a thousand requests over HTTP/2 take one handshake`() async throws {
        let folder = try Folder()
        try folder.write(testBytes(100), to: "a")
        let count = try await connections(to: folder) { session, url in
            for _ in 0..<1_000 {
                let (data, response) = try await session.data(for: TransferRequest(url + "/a"))
                guard response.status == 200, data == testBytes(100) else {
                    Issue.record("\(response)")
                    return
                }
            }
        }
        #expect(count == 1)
    }

    @Test func `requests at the same time have a connection each, and the next use them`() async throws {
        let folder = try Folder()
        try folder.write(testBytes(100_000), to: "a")
        let count = try await connections(to: folder) { session, url in
            for _ in 0..<3 {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 {
                        group.addTask { try await session.data(for: TransferRequest(url + "/a")).data.count }
                    }
                    for try await length in group { #expect(length == 100_000) }
                }
            }
            let (body, _) = try await session.bytes(for: TransferRequest(url + "/a"))
            var length = 0
            for try await chunk in body.chunks { length += chunk.count }
            #expect(length == 100_000)
        }
        #expect((1...4).contains(count))
    }

    /// A server of HTTP/1.1 that answers so many requests on each connection.
    private func server(_ perConnection: Int, _ answer: String, _ seen: @escaping @Sendable (Int) -> Void)
        -> ScriptedServer
    {
        ScriptedServer { number, _, socket in
            for request in 0..<perConnection {
                if request > 0, socket.requestHead() == nil { return }
                seen(number)
                try socket.send(Array(answer.utf8))
            }
        }
    }

    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func `a connection of HTTP/1 that the server has closed is replaced`() async throws {
        let seen = Mutex<[Int]>([])
        let server = server(3, Self.answer) { number in seen.withLock { $0.append(number) } }
        let session = TransferSession()
        for _ in 0..<7 {
            #expect(try await session.data(for: TransferRequest(server.url)).data == Array("ok".utf8))
        }
        #expect(seen.withLock { $0 } == [0, 0, 0, 1, 1, 1, 2])
    }

    @Test func `a connection isn't kept if its server closes it, or its response isn't read`() async throws {
        let seen = Mutex<[Int]>([])
        let closing = server(1, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok") { number in
            seen.withLock { $0.append(number) }
        }
        let session = TransferSession()
        for _ in 0..<3 { _ = try await session.data(for: TransferRequest(closing.url)) }
        #expect(seen.withLock { $0 } == [0, 1, 2])
        let long = server(2, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab") { number in
            seen.withLock { $0.append(number) }
        }
        for _ in 0..<2 {
            let (body, _) = try await session.bytes(for: TransferRequest(long.url))
            for try await _ in body.chunks { break }
            body.cancel()
        }
        #expect(seen.withLock { $0 } == [0, 1, 2, 0, 1])
    }
}
