import Foundation
import Glibc

/// A server for tests on a free port of 127.0.0.1, with a thread for each connection.
public final class SocketServer: Sendable {
    /// `127.0.0.1:PORT`.
    public let address: String
    private let listener: Int32

    /// Starts a server, which calls `serve` for each connection and closes it afterwards.
    public init(_ serve: @escaping @Sendable (Int32) -> Void) {
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
                Thread.detachNewThread {
                    serve(connection)
                    close(connection)
                }
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Sends a response, whose head may name more bytes than follow.
    public static func send(
        _ body: String,
        status: String = "200 OK",
        type: String = "text/plain",
        length: Int? = nil,
        to connection: Int32
    ) {
        let fields = ["HTTP/1.1 \(status)", "Content-Length: \(length ?? body.utf8.count)", "Content-Type: \(type)"]
        send(Data((fields.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8), to: connection)
    }

    /// Sends bytes, unless the client closes first.
    public static func send(_ bytes: Data, to connection: Int32) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return }
            rest = Data(rest.dropFirst(count))
        }
    }
}
