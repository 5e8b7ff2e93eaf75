import Foundation
import TestSockets
import Testing

/// A blocking connection to a loopback server, for requests that no program sends.
extension TestSocket {
    /// Connects to "127.0.0.1:PORT".
    static func connected(to address: String) throws -> TestSocket {
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) }, "no port in \(address)")
        return try connected(to: loopback(port: port)).get()
    }

    /// The next head as lines; `nil` when the server has closed.
    func head() -> [String]? { requestHead().map { $0.components(separatedBy: "\r\n").dropLast(2) } }

    /// The response to a request with a body of JSON; `nil` when the server has closed.
    func response(to line: String, _ body: String = "") -> (status: Int, body: String)? {
        let fields = "Host: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        guard (try? send(Array("\(line) HTTP/1.1\r\n\(fields)\(body)".utf8))) != nil, let head = head() else {
            return nil
        }
        let length = field("content-length", in: head).flatMap { Int($0) } ?? 0
        guard let content = try? receive(exactly: length), content.count == length else { return nil }
        return (Int(head[0].split(separator: " ")[1]) ?? 0, String(decoding: content, as: UTF8.self))
    }
}

/// The value of a field in the lines of a head.
func field(_ name: String, in head: [String]) -> String? {
    head.first { $0.lowercased().hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
}
