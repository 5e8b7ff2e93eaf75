import Foundation

/// A server that sends scripted responses, one per connection, and then none; it records the request heads.
package final class ScriptedServer: Sendable {
    /// `http://127.0.0.1:PORT`.
    package let url: String
    private let listener: TestSocket

    /// - Parameter respond: Called with the number of the connection, from 0, and the head of its request.
    package init(_ respond: @escaping @Sendable (Int, String, TestSocket) throws -> Void) {
        let (listener, address) = TestSocket.listening()
        self.listener = listener
        url = "http://127.0.0.1:\(address.port)"
        Thread.detachNewThread {
            var number = 0
            while let socket = listener.nextClient() {
                let turn = number
                number += 1
                Thread.detachNewThread {
                    try? respond(turn, socket.requestHead() ?? "", socket)
                    socket.close()
                }
            }
        }
    }

    /// Sends this text to every request.
    package convenience init(_ text: String) {
        self.init { _, _, socket in
            try socket.send(Array(text.utf8))
            socket.endWriting()
            _ = socket.receiveAll()
        }
    }

    deinit { listener.interrupt() }
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
