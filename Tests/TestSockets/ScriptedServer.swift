/// A server that sends scripted responses, one per connection, and then none; it records the request heads.
package final class ScriptedServer: Sendable {
    package var port: Int { Int(server.address.port) }
    /// `http://127.0.0.1:PORT`.
    package var url: String { "http://127.0.0.1:\(port)" }
    private let server: TestServer

    /// - Parameter respond: Called with the number of the connection, from 0, and the head of its request.
    package init(_ respond: @escaping @Sendable (Int, String, TestSocket) throws -> Void) {
        server = TestServer(numbered: { number, socket in try respond(number, socket.requestHead() ?? "", socket) })
    }

    /// Sends this text to every request.
    package convenience init(_ text: String) {
        self.init { _, _, socket in
            try socket.send(Array(text.utf8))
            socket.endWriting()
            _ = socket.receiveAll()
        }
    }

    deinit { server.stop() }
}

extension TestSocket {
    /// The head of the next request; `nil` if the stream ends or breaks before its end.
    package func requestHead() -> String? {
        var head: [UInt8] = []
        while head.suffix(4) != Array("\r\n\r\n".utf8)[...] {
            guard let part = try? receive(1), !part.isEmpty else { return nil }
            head += part
        }
        return String(decoding: head, as: UTF8.self)
    }
}
