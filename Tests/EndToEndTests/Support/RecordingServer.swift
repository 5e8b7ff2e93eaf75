import Foundation
import TestSockets

/// A loopback HTTP server that records requests and responds with given bytes.
final class RecordingServer: Sendable {
    private let kept: Shared<[String]>
    private let server: ScriptedServer

    var port: Int { server.port }
    /// The heads so far, in order; with `answering` the whole requests.
    var heads: [String] { kept.value }
    /// The values of `Authorization` so far.
    var authorizations: [String] {
        heads.flatMap { $0.matches(of: /(?i)\r\nAuthorization: ([^\r]*)/).map { String($0.output.1) } }
    }

    /// Listens on a free port and responds until it is released.
    private init(takesBodies: Bool = false, answer: @escaping @Sendable (String) -> String) {
        let kept = Shared<[String]>([])
        self.kept = kept
        server = ScriptedServer { _, head, socket in
            guard !head.isEmpty else { return }
            let length = head.firstMatch(of: /(?i)\r\nContent-Length: ([0-9]+)/).flatMap { Int($0.output.1) } ?? 0
            let body = try socket.receive(exactly: takesBodies ? length : 0)
            let request = head + String(decoding: body, as: UTF8.self)
            kept.update { $0.append(request) }
            try socket.send(Array(answer(request).utf8))
        }
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
        let server = RecordingServer { _ in lines.joined(separator: "\r\n") }
        return try await body(server)
    }

    /// Runs `body` with a server that reads whole requests, and responds with a status and content by their first
    /// line, without a length.
    static func answering<Result>(
        _ answer: @escaping @Sendable (String) -> (status: Int, content: String),
        _ body: (RecordingServer) async throws -> Result
    ) async throws -> Result {
        let server = RecordingServer(takesBodies: true) { request in
            let (status, content) = answer(String(request.prefix { $0 != "\r\n" }))
            return "HTTP/1.1 \(status) X\r\nConnection: close\r\n\r\n\(content)"
        }
        return try await body(server)
    }
}
