import Foundation
import TestSockets
import Testing

@testable import ControlService

/// The client of one server over HTTP/1.1 without TLS.
@Suite(.timeLimit(.minutes(5))) struct HTTP1ClientTests {
    /// A server that responds to each connection with `response` once it has the end of a head, and ends it; what the client
    /// goes on to send is dropped.
    private func withServer(_ response: String, _ body: (HTTP1Client) async throws -> Void) async throws {
        let (listener, address) = TestSocket.listening()
        Thread.detachNewThread {
            while let socket = listener.nextClient() {
                var head: [UInt8] = []
                while !head.contains(Array("\r\n\r\n".utf8)), let more = try? socket.receive(1 << 16), !more.isEmpty {
                    head += more
                }
                try? socket.send(Array(response.utf8))
                socket.endWriting()
                _ = socket.receiveAll()
                socket.close()
            }
        }
        defer { listener.interrupt() }
        try await body(HTTP1Client(host: "127.0.0.1", port: Int(address.port)))
    }

    @Test func `a response that comes before the content is sent counts`() async throws {
        try await withServer("HTTP/1.1 413 X\r\nConnection: close\r\n\r\nhello") { client in
            let request = HTTP1Client.Request("POST", "/", body: [UInt8](repeating: 7, count: 8 << 20))
            for _ in 0..<5 {
                var content: [UInt8] = []
                let status = try await client.send(request, within: .seconds(30)) { content += $1 }
                #expect(status == 413 && content == Array("hello".utf8))
            }
        }
    }

    @Test func `a connection that ends within the response is cut off`() async throws {
        try await withServer("HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nhello") { client in
            await #expect(throws: HTTP1Client.Failure.self) {
                try await client.send(.init("GET", "/"), within: .seconds(30)) { _, _ in }
            }
        }
    }
}
