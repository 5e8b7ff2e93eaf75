import EventLoop

/// A server that sends the same bytes to each client, then ends the stream and waits for the client's end.
package final class ByteServer: Sendable {
    /// `127.0.0.1:PORT`.
    package var address: String { "\(server.address)" }
    private let server: TestServer

    /// Serves until it is released.
    package init(_ bytes: [UInt8]) {
        server = TestServer { socket in
            try? socket.send(bytes)
            socket.endWriting()
            _ = socket.receiveAll()
        }
    }

    deinit { server.stop() }
}

/// Everything that a client of `host:port` receives, which sends nothing, and how it ended; `nil` if it can't connect.
package func received(from host: String, _ port: Int) -> (bytes: [UInt8], ending: StreamEnding)? {
    guard let address = SocketAddress(numericHost: host, port: UInt16(port)),
        let socket = try? TestSocket.connected(to: address).get()
    else { return nil }
    defer { socket.close() }
    return socket.receiveAll()
}
