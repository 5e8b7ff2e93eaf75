import Foundation
import Glibc
import TestServer

/// A server of one file for tests: HTTP/1.1 with ranges, a connection for each request, on a free port of 127.0.0.1.
final class FileServer: Sendable {
    /// `127.0.0.1:PORT`.
    var address: String { server.address }
    private let server: SocketServer

    init(_ file: Data) { server = SocketServer { FileServer.answer($0, file) } }

    private static func answer(_ connection: Int32, _ file: Data) {
        var head = ""
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while !head.contains("\r\n\r\n") {
            let count = recv(connection, &bytes, bytes.count, 0)
            if count <= 0 { return }
            head += String(decoding: bytes.prefix(count), as: UTF8.self)
        }
        let range = head.firstMatch(of: /(?i)range: bytes=([0-9]+)-([0-9]*)/)
        let first = range.flatMap { Int($0.output.1) } ?? 0
        let last = range.flatMap { Int($0.output.2) } ?? file.count - 1
        guard first < file.count else { return }
        let part = file[first...min(last, file.count - 1)]
        let fields =
            [
                range == nil ? "HTTP/1.1 200 OK" : "HTTP/1.1 206 Partial Content", "Content-Length: \(part.count)",
                "ETag: \"1\"", "Connection: close",
            ] + (range == nil ? [] : ["Content-Range: bytes \(first)-\(first + part.count - 1)/\(file.count)"])
        SocketServer.send(Data((fields.joined(separator: "\r\n") + "\r\n\r\n").utf8) + part, to: connection)
    }
}
