import Glibc

/// Answers each connection: a line with a number of bytes is answered with as many, `bulk` with bytes without an end.
///
/// The first 8 bytes of an answer are the time of the accept (monotonic, little-endian nanoseconds): behind a proxy it can
/// be later than the client's connect.
final class Server {
    private struct Connection {
        let accepted: UInt64
        /// The bytes left to send; `nil` until the request has come.
        var remaining: Int?
        var sent = 0
    }

    private let address: String
    private let poller = Poller()
    private var listeners: Set<Int32> = []
    private var connections: [Int32: Connection] = [:]
    private let block = UnsafeMutablePointer<UInt8>.allocate(capacity: 65_536)

    init(address: String) {
        self.address = address
        block.initialize(repeating: 0, count: 65_536)
    }

    func run() {
        for row in readTable(fields: 2, of: "PORTS") {
            listen(on: number(row[0], within: 1...65_535, "PORT"), congestionControl: row[1])
        }
        // Not by `print`, which keeps it back in a pipe.
        _ = write(1, "ready\n", 6)
        while true {
            poller.wait(milliseconds: -1) { ready in
                if listeners.contains(ready) { accept(ready) } else { advance(ready) }
            }
        }
    }

    private func listen(on port: UInt16, congestionControl: String) {
        let listener = check(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), "socket")
        var on: Int32 = 1
        check(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, 4), "SO_REUSEADDR")
        // What is accepted inherits it.
        check(
            setsockopt(
                listener,
                Int32(IPPROTO_TCP),
                TCP_CONGESTION,
                congestionControl,
                socklen_t(congestionControl.utf8.count)
            ),
            "congestion control \(congestionControl)"
        )
        check(withSocketAddress(socketAddress(address, port)) { bind(listener, $0, $1) }, "bind to port \(port)")
        check(Glibc.listen(listener, 1024), "listen")
        setNonBlocking(listener)
        listeners.insert(listener)
        poller.add(listener, events: readable)
    }

    private func accept(_ listener: Int32) {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            if connection < 0 { return }
            setNonBlocking(connection)
            connections[connection] = Connection(accepted: monotonic())
            poller.add(connection, events: readable)
        }
    }

    private func advance(_ descriptor: Int32) {
        guard var connection = connections[descriptor] else { return }
        var request = [UInt8](repeating: 0, count: 32)
        let got = read(descriptor, &request, request.count)
        if got == 0 || (got < 0 && errno != EAGAIN) {
            close(descriptor)
            connections[descriptor] = nil
            return
        }
        if got > 0, connection.remaining == nil {
            // A request is one segment, so it arrives as a whole.
            let text = String(decoding: request[..<got], as: UTF8.self).filter { $0 != "\n" }
            connection.remaining = text == "bulk" ? Int.max : Int(text) ?? 8
            poller.change(descriptor, events: readable | writable)
        }
        send(descriptor, &connection)
        connections[descriptor] = connection
    }

    private func send(_ descriptor: Int32, _ connection: inout Connection) {
        while let remaining = connection.remaining, remaining > 0 {
            if connection.sent == 0 {
                // In one write with what follows, or the time would be a segment of its own.
                let stamp = withUnsafeBytes(of: connection.accepted.littleEndian) { Array($0) }
                block.update(from: stamp, count: stamp.count)
            }
            let count = write(descriptor, block, min(65_536, remaining))
            if count < 0 { return }
            connection.sent += count
            connection.remaining = remaining - count
        }
        if connection.remaining == 0 {
            // The client closes first.
            shutdown(descriptor, Int32(SHUT_WR))
            connection.remaining = -1
            poller.change(descriptor, events: readable)
        }
    }
}
