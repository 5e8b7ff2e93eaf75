import Foundation
import Glibc
import Synchronization
import TestStreams

/// A loopback HTTP server that records requests and responds with given bytes.
final class RecordingServer: Sendable {
    let port: Int
    private let descriptor: Int32
    private let kept = Mutex<[String]>([])

    /// The heads so far, in order; with `answering` the whole requests.
    var heads: [String] { kept.withLock { $0 } }
    /// The values of `Authorization` so far.
    var authorizations: [String] {
        heads.flatMap { $0.matches(of: /(?i)\r\nAuthorization: ([^\r]*)/).map { String($0.output.1) } }
    }

    /// Listens on a free port and responds until it is closed.
    private init(takesBodies: Bool = false, answer: @escaping @Sendable (String) -> String) throws {
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
                serve(connection, takesBodies: takesBodies, answer)
                close(connection)
            }
        }
    }

    private func serve(_ connection: Int32, takesBodies: Bool, _ answer: (String) -> String) {
        var head: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while head.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return }
            head += buffer.prefix(count)
        }
        let text = String(decoding: head, as: UTF8.self)
        if takesBodies,
            let length = text.firstMatch(of: /(?i)\r\nContent-Length: ([0-9]+)/).flatMap({ Int($0.output.1) })
        {
            let start = head.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? head.count
            while head.count < start + length {
                let count = read(connection, &buffer, buffer.count)
                guard count > 0 else { return }
                head += buffer.prefix(count)
            }
        }
        let request = String(decoding: head, as: UTF8.self)
        kept.withLock { $0.append(request) }
        let bytes = Array(answer(request).utf8)
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
        let server = try RecordingServer { _ in lines.joined(separator: "\r\n") }
        defer {
            shutdown(server.descriptor, Int32(SHUT_RDWR))
            close(server.descriptor)
        }
        return try await body(server)
    }

    /// Runs `body` with a server that reads whole requests, and responds with a status and content by their first
    /// line, without a length.
    static func answering<Result>(
        _ answer: @escaping @Sendable (String) -> (status: Int, content: String),
        _ body: (RecordingServer) async throws -> Result
    ) async throws -> Result {
        let server = try RecordingServer(takesBodies: true) { request in
            let (status, content) = answer(String(request.prefix { $0 != "\r\n" }))
            return "HTTP/1.1 \(status) X\r\nConnection: close\r\n\r\n\(content)"
        }
        defer {
            shutdown(server.descriptor, Int32(SHUT_RDWR))
            close(server.descriptor)
        }
        return try await body(server)
    }
}
