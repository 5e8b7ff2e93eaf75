import Foundation
import Glibc
import Synchronization

/// A loopback HTTP server that records request heads and responds with fixed bytes.
final class RecordingServer: Sendable {
    let port: Int
    private let descriptor: Int32
    private let kept = Mutex<[String]>([])

    /// The heads so far, in order.
    var heads: [String] { kept.withLock { $0 } }
    /// The values of `Authorization` so far.
    var authorizations: [String] {
        heads.flatMap { $0.matches(of: /(?i)\r\nAuthorization: ([^\r]*)/).map { String($0.output.1) } }
    }

    /// Listens on a free port and responds until it is closed.
    private init(answer: String) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound else { throw Complaint("can't listen: errno \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                serve(connection, answer)
                close(connection)
            }
        }
    }

    private func serve(_ connection: Int32, _ answer: String) {
        var head: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while head.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return }
            head += buffer.prefix(count)
        }
        kept.withLock { $0.append(String(decoding: head, as: UTF8.self)) }
        let bytes = Array(answer.utf8)
        _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Runs `body` with a server that responds with `status`, `fields` and 5 bytes of content.
    static func with<Result>(
        _ status: Int = 200,
        _ fields: [String] = [],
        _ body: (RecordingServer) async throws -> Result
    ) async throws -> Result {
        // The digest proves the download, which would otherwise end with a warning.
        let digest = "Repr-Digest: sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
        let head = ["HTTP/1.1 \(status) X", "Content-Length: 5", "Connection: close", digest]
        let lines = head + fields + ["", "hello"]
        let server = try RecordingServer(answer: lines.joined(separator: "\r\n"))
        defer {
            shutdown(server.descriptor, Int32(SHUT_RDWR))
            close(server.descriptor)
        }
        return try await body(server)
    }
}
