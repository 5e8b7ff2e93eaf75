import EventLoop
import Foundation

/// A server that sends the same bytes to each client, then ends the stream and waits for the client's end.
package final class ByteServer: Sendable {
    /// `127.0.0.1:PORT`.
    package let address: String
    private let listener: TestSocket

    /// Serves until it is released.
    package init(_ bytes: [UInt8]) {
        let (listener, address) = TestSocket.listening()
        self.listener = listener
        self.address = "\(address)"
        Thread.detachNewThread {
            while let socket = listener.nextClient() {
                Thread.detachNewThread {
                    try? socket.send(bytes)
                    socket.endWriting()
                    _ = socket.receiveAll()
                    socket.close()
                }
            }
        }
    }

    deinit { listener.interrupt() }
}

/// Everything that a client of `host:port` receives, which sends nothing, and how it ended; `nil` if it can't connect.
package func received(from host: String, _ port: Int) -> (bytes: [UInt8], ending: StreamEnding)? {
    guard let address = SocketAddress(numericHost: host, port: UInt16(port)),
        let socket = try? TestSocket.connected(to: address).get()
    else { return nil }
    defer { socket.close() }
    return socket.receiveAll()
}
