import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypesHTTP1
import ResumableUploads
import Synchronization
import Testing

/// A client that behaves like Apple's URLSession: raw HTTP/1.1 requests to the channel handler.
///
/// iOS 17 and macOS 14 speak version 3 of the drafts, iOS 18.0 version 5, later ones version 6. The requests are
/// literal, independent of Squall's code.
@Suite(.timeLimit(.minutes(5))) struct AppleClientTests {
    private struct Shape: Sendable {
        let version: Int
        let ends: String
        let continues: String
        let appendFields: String

        var head: String { "Host: a\r\nUpload-Draft-Interop-Version: \(version)\r\n" }
    }

    private static let shapes = [
        Shape(version: 3, ends: "Upload-Incomplete: ?0", continues: "Upload-Incomplete: ?1", appendFields: ""),
        Shape(version: 5, ends: "Upload-Complete: ?1", continues: "Upload-Complete: ?0", appendFields: ""),
        Shape(
            version: 6,
            ends: "Upload-Complete: ?1",
            continues: "Upload-Complete: ?0",
            appendFields: "Content-Type: application/partial-upload\r\n"
        ),
    ]

    /// A connection to a server, bytes in and bytes out.
    private struct Connection {
        let channel: NIOAsyncTestingChannel
        private var received = ""

        init(_ server: ResumableUploadServer) async throws {
            channel = try await NIOAsyncTestingChannel { channel in
                try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                try channel.pipeline.syncOperations.addHandler(ResumableUploadHandler(server))
            }
            try await channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1))
        }

        func send(_ text: String) async throws { try await channel.writeInbound(ByteBuffer(string: text)) }

        func send(_ bytes: ArraySlice<UInt8>) async throws { try await channel.writeInbound(ByteBuffer(bytes: bytes)) }

        /// The next head, as lines.
        mutating func head() async throws -> [String] {
            while true {
                if let end = received.range(of: "\r\n\r\n") {
                    let head = received[..<end.lowerBound]
                    received = String(received[end.upperBound...])
                    return head.split(separator: "\r\n").map(String.init)
                }
                received += String(buffer: try await channel.waitForOutboundWrite(as: ByteBuffer.self))
            }
        }

        static func value(_ name: String, in head: [String]) -> String? {
            head.first { $0.lowercased().hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
        }
    }

    @Test(arguments: shapes.indices)
    func `an upload that is cut in the middle of its creation and of an append is one request`(index: Int) async throws
    {
        let shape = Self.shapes[index]
        let content = [UInt8].numbered(10_000)
        let bodies = Mutex<[[UInt8]]>([])
        let server = ResumableUploadServer { request in
            var bytes: [UInt8] = []
            for try await piece in request.body { bytes += piece.readableBytesView }
            bodies.withLock { $0.append(bytes) }
            return UploadedResponse(head: HTTPResponse(status: .created))
        }
        var first = try await Connection(server)
        try await first.send(
            "POST /photo HTTP/1.1\r\n\(shape.head)\(shape.ends)\r\nExpect: 100-continue\r\nContent-Length: 10000\r\n\r\n"
        )
        let created = try await first.head()
        #expect(created[0].hasPrefix("HTTP/1.1 104 "), "\(created)")
        // URLSession resumes only if the server echoes its version.
        #expect(Connection.value("upload-draft-interop-version", in: created) == "\(shape.version)")
        #expect(Connection.value("upload-offset", in: created) == nil)
        let location = try #require(Connection.value("location", in: created))
        #expect(try await first.head()[0] == "HTTP/1.1 100 Continue")
        try await first.send(content[..<4_000])
        try await first.channel.close()
        let offset = try await offset(shape, location, server)
        #expect(offset == 4_000)
        let second = try await Connection(server)
        try await second.send(append(shape, location, 4_000, 6_000))
        try await second.send(content[4_000..<7_000])
        try await second.channel.close()
        #expect(try await self.offset(shape, location, server) == 7_000)
        // A client with an older offset gets the right one, and may go on from there.
        var late = try await Connection(server)
        try await late.send(append(shape, location, 4_000, 6_000))
        let refusal = try await late.head()
        #expect(refusal[0].hasPrefix("HTTP/1.1 409 "), "\(refusal)")
        #expect(Connection.value("upload-offset", in: refusal) == "7000")
        try await late.channel.close()
        var third = try await Connection(server)
        try await third.send(append(shape, location, 7_000, 3_000))
        try await third.send(content[7_000...])
        let final = try await third.head()
        #expect(final[0].hasPrefix("HTTP/1.1 201 "), "\(final)")
        #expect(final.contains { $0.lowercased() == shape.ends.lowercased() }, "\(final)")
        #expect(Connection.value("upload-offset", in: final) == "10000")
        #expect(bodies.withLock { $0 } == [content])
        await server.shutDown()
    }

    private func append(_ shape: Shape, _ location: String, _ offset: Int, _ count: Int) -> String {
        "PATCH \(location) HTTP/1.1\r\n\(shape.head)\(shape.ends)\r\nUpload-Offset: \(offset)\r\n\(shape.appendFields)"
            + "Content-Length: \(count)\r\n\r\n"
    }

    private func offset(_ shape: Shape, _ location: String, _ server: ResumableUploadServer) async throws -> Int? {
        var connection = try await Connection(server)
        try await connection.send("HEAD \(location) HTTP/1.1\r\n\(shape.head)\r\n")
        let head = try await connection.head()
        #expect(head[0].hasPrefix("HTTP/1.1 204 "), "\(head)")
        #expect(head.contains { $0.lowercased() == shape.continues.lowercased() }, "\(head)")
        return Connection.value("upload-offset", in: head).flatMap { Int($0) }
    }
}
