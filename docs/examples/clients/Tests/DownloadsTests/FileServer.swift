import Foundation
import Glibc

/// A server of one file for tests: HTTP/1.1 with ranges, a connection for each request, on a free port of 127.0.0.1.
final class FileServer: Sendable {
    /// `127.0.0.1:PORT`.
    let address: String
    private let listener: Int32

    init(_ file: Data) {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                precondition(bind(listener, name, length) == 0 && listen(listener, 64) == 0, "can't listen")
                getsockname(listener, name, &length)
            }
        }
        address = "127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
        Thread.detachNewThread {
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                FileServer.answer(connection, file)
                close(connection)
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func answer(_ connection: Int32, _ file: Data) {
        var head = ""
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while !head.contains("\r\n\r\n") {
            let count = recv(connection, &bytes, bytes.count, 0)
            if count <= 0 { return }
            head += String(decoding: bytes.prefix(count), as: UTF8.self)
        }
        guard let range = head.firstMatch(of: /(?i)range: bytes=([0-9]+)-([0-9]+)/),
            let first = Int(range.output.1), let last = Int(range.output.2), first < file.count
        else { return }
        let part = file[first...min(last, file.count - 1)]
        let fields = [
            "HTTP/1.1 206 Partial Content", "Content-Length: \(part.count)", "ETag: \"1\"", "Connection: close",
            "Content-Range: bytes \(first)-\(first + part.count - 1)/\(file.count)",
        ]
        var rest = Data((fields.joined(separator: "\r\n") + "\r\n\r\n").utf8) + part
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return }
            rest = Data(rest.dropFirst(count))
        }
    }
}
