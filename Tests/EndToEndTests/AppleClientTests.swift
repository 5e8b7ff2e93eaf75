import Foundation
import TestStreams
import Testing

/// A client that behaves like Apple's URLSession: raw requests to `squall origin --uploads`.
///
/// iOS 17 and macOS 14 speak version 3 of the drafts, iOS 18.0 version 5, later ones version 6. The requests are
/// literal, independent of Squall's code.
@Suite(.timeLimit(.minutes(2))) struct AppleClientTests {
    private struct Shape: Sendable, CustomTestStringConvertible {
        let version: Int
        /// The field values for complete and incomplete content.
        let ends: String
        let continues: String
        let appendFields: String
        var testDescription: String { "version \(version)" }

        private var head: String { "Host: a\r\nUpload-Draft-Interop-Version: \(version)\r\n" }

        func creation(_ count: Int) -> String {
            "POST /new.bin HTTP/1.1\r\n\(head)\(ends)\r\nContent-Type: application/octet-stream\r\nAccept: */*\r\n"
                + "Expect: 100-continue\r\nContent-Length: \(count)\r\n\r\n"
        }

        func offset(_ path: String) -> String { "HEAD \(path) HTTP/1.1\r\n\(head)\r\n" }

        func append(_ path: String, _ offset: Int, _ count: Int) -> String {
            "PATCH \(path) HTTP/1.1\r\n\(head)\(ends)\r\nUpload-Offset: \(offset)\r\n\(appendFields)"
                + "Content-Length: \(count)\r\n\r\n"
        }
    }

    private static let shapes = [
        Shape(version: 3, ends: "Upload-Incomplete: ?0", continues: "upload-incomplete: ?1", appendFields: ""),
        Shape(version: 5, ends: "Upload-Complete: ?1", continues: "upload-complete: ?0", appendFields: ""),
        Shape(
            version: 6,
            ends: "Upload-Complete: ?1",
            continues: "upload-complete: ?0",
            appendFields: "Content-Type: application/partial-upload\r\n"
        ),
    ]

    @Test(arguments: shapes)
    private func `an upload that is cut in the middle of its creation and of an append is finished`(
        shape: Shape
    ) async throws {
        let content = Array(bytes(1_000_000))
        try await withFolder { folder in
            try await withChild(Programs.squall, ["origin", folder.path, "--uploads", folder.path]) { origin in
                let place = try await address(in: origin.line(with: "ready: "))
                let location = try Self.create(shape, content[..<400_000], of: content.count, at: place)
                var offset = try Self.offset(shape, location, at: place)
                #expect((0...400_000).contains(offset))
                // Cut again: the socket closes when it goes out of scope.
                let sent = offset + 200_000
                do {
                    let socket = try RawSocket(place)
                    socket.send(shape.append(location, offset, content.count - offset).utf8)
                    socket.send(content[offset..<sent])
                }
                // The server may still receive bytes of the connection that is gone: a client asks again after a 409.
                var final: [String] = []
                repeat {
                    let next = try Self.offset(shape, location, at: place)
                    #expect((offset...sent).contains(next))
                    offset = next
                    let socket = try RawSocket(place)
                    socket.send(shape.append(location, offset, content.count - offset).utf8)
                    socket.send(content[offset...])
                    final = try Self.finalHead(socket)
                } while final[0].hasPrefix("HTTP/1.1 409 ")
                #expect(final[0].hasPrefix("HTTP/1.1 201 "), "\(final)")
                #expect(final.contains { $0.lowercased() == shape.ends.lowercased() }, "\(final)")
                #expect(field("upload-offset", in: final) == "1000000")
                #expect(try Data(contentsOf: folder.appendingPathComponent("new.bin")) == Data(content))
            }
        }
    }

    /// Creates an upload, sends the first part of its content, and drops the connection.
    private static func create(_ shape: Shape, _ start: ArraySlice<UInt8>, of count: Int, at place: String) throws
        -> String
    {
        let socket = try RawSocket(place)
        socket.send(shape.creation(count).utf8)
        guard let head = socket.head() else { throw Complaint("no answer") }
        #expect(head[0].hasPrefix("HTTP/1.1 104 "), "\(head)")
        // URLSession resumes only if the server echoes its version.
        #expect(field("upload-draft-interop-version", in: head) == "\(shape.version)")
        #expect(field("upload-offset", in: head) == nil)
        let location = try #require(field("location", in: head), "\(head)")
        #expect(socket.head()?.first?.hasPrefix("HTTP/1.1 100 ") == true)
        socket.send(start)
        return location
    }

    private static func offset(_ shape: Shape, _ location: String, at place: String) throws -> Int {
        let socket = try RawSocket(place)
        socket.send(shape.offset(location).utf8)
        guard let head = socket.head() else { throw Complaint("no answer to HEAD") }
        #expect(head[0].hasPrefix("HTTP/1.1 204 "), "\(head)")
        #expect(head.contains { $0.lowercased() == shape.continues }, "\(head)")
        #expect(field("cache-control", in: head) == "no-store")
        return try #require(field("upload-offset", in: head).flatMap { Int($0) }, "\(head)")
    }

    private static func finalHead(_ socket: RawSocket) throws -> [String] {
        while let head = socket.head() {
            if !head[0].hasPrefix("HTTP/1.1 104 ") { return head }
        }
        throw Complaint("no answer")
    }
}
