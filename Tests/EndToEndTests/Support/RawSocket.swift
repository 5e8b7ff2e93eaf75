import Foundation
import Glibc
import TestStreams

/// A blocking connection to a loopback server, for requests that no program sends.
final class RawSocket {
    private let descriptor: Int32
    private var received: [UInt8] = []

    /// Connects to "127.0.0.1:PORT".
    init(_ address: String) throws {
        let port = try UInt16(address.split(separator: ":").last ?? "").unwrapped("no port in \(address)")
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            close(descriptor)
            throw Complaint("connect: errno \(errno)")
        }
    }

    deinit { close(descriptor) }

    /// Sends all bytes; `false` when the server has closed.
    @discardableResult
    func send(_ bytes: some Sequence<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// The next head as lines; `nil` when the server has closed.
    func head() -> [String]? {
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
                received.removeFirst(end.upperBound)
                return head.components(separatedBy: "\r\n")
            }
            guard receive() else { return nil }
        }
    }

    /// The response to a request with a body of JSON; `nil` when the server has closed.
    func response(to line: String, _ body: String = "") -> (status: Int, body: String)? {
        let fields = "Host: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        guard send("\(line) HTTP/1.1\r\n\(fields)\(body)".utf8), let head = head() else { return nil }
        let length = field("content-length", in: head).flatMap { Int($0) } ?? 0
        while received.count < length { guard receive() else { return nil } }
        defer { received.removeFirst(length) }
        let status = Int(head[0].split(separator: " ")[1]) ?? 0
        return (status, String(decoding: received.prefix(length), as: UTF8.self))
    }

    /// Receives more; `false` when the server has closed.
    private func receive() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        received += buffer[..<count]
        return true
    }
}

extension Optional {
    fileprivate func unwrapped(_ complaint: String) throws -> Wrapped {
        guard let self else { throw Complaint(complaint) }
        return self
    }
}

/// The value of a field in the lines of a head.
func field(_ name: String, in head: [String]) -> String? {
    head.first { $0.lowercased().hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
}
