import Foundation
import Glibc
import Logging
import Synchronization
import TestServer
import Testing
import Tour

/// What a server has seen.
private final class Seen: Sendable {
    let connections = Mutex(0)
    let flaky = Mutex(0)
}

@Suite(.timeLimit(.minutes(2))) struct TourTests {
    @Test func `the tour uploads, keeps its connection, discards and retries`() async throws {
        let seen = Seen()
        let server = SocketServer { connection in
            seen.connections.withLock { $0 += 1 }
            while let (head, body) = HTTPReading.request(from: connection) {
                switch head.split(separator: " ")[1] {
                case "/photos":
                    let length = head.firstMatch(of: /(?i)content-length: ([0-9]+)/).flatMap { Int($0.output.1) } ?? 0
                    let read = HTTPReading.body(length, after: body, from: connection)
                    SocketServer.send("{\"bytes\": \(read)}", type: "application/json", to: connection)
                    return
                case "/ping": SocketServer.send("pong", to: connection)
                case "/large":
                    SocketServer.send(String(repeating: "x", count: 100_000), length: 1_000_000, to: connection)
                    // Until the client gives up.
                    _ = HTTPReading.request(from: connection)
                    return
                case "/flaky"
                where seen.flaky.withLock({ count in
                    count += 1
                    return count < 3
                }):
                    SocketServer.send("later", status: "503 Service Unavailable", to: connection)
                    return
                default:
                    SocketServer.send("here", type: "text/plain", to: connection)
                    return
                }
            }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tour-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = try #require(URL(string: "http://\(server.address)/"))
        #expect(try await tour(url, folder: folder.path, logger: Logger(label: "tour")) == 100_000)
        // One for the upload, one for a thousand requests, one for the large file, and three for the flaky one.
        #expect(seen.connections.withLock { $0 } == 6)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(left == ["flaky", "state"])
    }
}

private enum HTTPReading {
    /// The next request's head, and the bytes that came with it; `nil` at the end of the connection.
    static func request(from connection: Int32) -> (head: String, body: Int)? {
        var text = [UInt8]()
        while true {
            if let end = String(decoding: text, as: UTF8.self).range(of: "\r\n\r\n") {
                let all = String(decoding: text, as: UTF8.self)
                return (String(all[..<end.lowerBound]), all[end.upperBound...].utf8.count)
            }
            guard let more = part(of: connection) else { return nil }
            text += more
        }
    }

    /// Reads the rest of a body of which `count` bytes came, and returns its length.
    static func body(_ length: Int, after count: Int, from connection: Int32) -> Int {
        var count = count
        while count < length, let more = part(of: connection) { count += more.count }
        return count
    }

    private static func part(of connection: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = recv(connection, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
}
