import EventLoop
import Foundation
import Units

/// A server of a test: a thread accepts, and each connection has one of its own.
package final class TestServer: Sendable {
    package let address: SocketAddress
    private let listener: TestSocket

    /// - Parameter serve: Called with the number of the connection, from 0.
    package init(
        backlog: Int32 = 1_024,
        at unix: UnixSocketName? = nil,
        numbered serve: @escaping @Sendable (Int, TestSocket) throws -> Void
    ) {
        if let unix {
            (listener, address) = (TestSocket.listening(at: unix, backlog: backlog), SocketAddress(unix: unix))
        } else {
            (listener, address) = TestSocket.listening(backlog: backlog)
        }
        Thread.detachNewThread { [listener] in
            var count = 0
            while let socket = listener.nextClient() {
                let number = count
                count += 1
                Thread.detachNewThread { try? serve(number, socket) }
            }
        }
    }

    package convenience init(
        backlog: Int32 = 1_024,
        at unix: UnixSocketName? = nil,
        serve: @escaping @Sendable (TestSocket) throws -> Void
    ) {
        self.init(backlog: backlog, at: unix, numbered: { try serve($1) })
    }

    /// A server that sends back what it receives, and ends when the client does.
    package static func echo(at unix: UnixSocketName? = nil) -> TestServer {
        TestServer(at: unix) { socket in
            while case let part = try socket.receive(1 << 16), !part.isEmpty { try socket.send(part) }
        }
    }

    /// Accepts no more; what `serve` is at goes on.
    package func stop() { listener.interrupt() }
}
