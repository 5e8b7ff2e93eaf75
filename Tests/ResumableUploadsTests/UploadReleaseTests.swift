import DurableFiles
import HTTPSemantics
import HTTPTypes
import ResumableUploads
import SimulatedDisk
import SystemPackage
import Testing
import TransferProtocol

/// Resources released after a request: open files and memory.
@Suite struct UploadReleaseTests {
    /// The file that locks the store.
    private static let idleFiles = 1

    private static func append(digest: ReprDigest?) throws -> HTTPFields {
        var fields = UploadWireFormat.v10.fields(isComplete: true, offset: 4, isAppend: true)
        fields[try #require(HTTPField.Name("Content-Digest"))] = digest?.headerValue
        return fields
    }

    @Test func `content without its digest leaves no file open`() throws {
        var (server, token) = try UploadTable.server(received: 4)
        #expect(server.disk.openFiles == Self.idleFiles)
        let fields = try Self.append(digest: [UInt8].numbered(3).digest)
        let rest = Array([UInt8].numbered(10)[4...])
        #expect(try UploadTable.response(&server, 2, .patch, .upload(token), fields, content: rest).status == 400)
        #expect(server.disk.openFiles == Self.idleFiles)
        #expect(
            try UploadTable.response(&server, 3, .patch, .upload(token), Self.append(digest: nil), content: rest)
                .status == 201
        )
        #expect(server.disk.openFiles == Self.idleFiles)
    }

    @Test func `content with a digest that is cut off leaves no file open`() throws {
        var (server, token) = try UploadTable.server(received: 4)
        let rest = Array([UInt8].numbered(10)[4...])
        server.request(2, .patch, .upload(token), try Self.append(digest: rest.digest), contentLength: 6)
        server.settle()
        server.handle(.content(UploadRequestID(2), Array(rest[..<3])))
        server.settle()
        #expect(server.disk.openFiles > Self.idleFiles)
        server.handle(.disconnected(UploadRequestID(2)))
        server.settle()
        #expect(server.disk.openFiles == Self.idleFiles)
    }

    @Test(arguments: 1..<4)
    func `an append that fails leaves no file open`(call: Int) throws {
        var (server, token) = try UploadTable.server(received: 4)
        server.request(2, .patch, .upload(token), try Self.append(digest: nil), contentLength: 6)
        server.settle()
        // The calls open the file, write to it and sync it.
        server.disk.setFaults(.init(failures: [server.disk.calls + call: .noSpace]))
        server.handle(.content(UploadRequestID(2), .numbered(6)))
        server.handle(.contentEnded(UploadRequestID(2)))
        server.settle()
        guard case .respond(_, let refused)? = server.takeSent().last else { throw ScriptedUploader.Broken(reason: "") }
        #expect(refused.status == 507)
        #expect(server.disk.openFiles == Self.idleFiles)
        server.disk.setFaults(.init())
        let head = try UploadTable.response(&server, 3, .head, .upload(token), UploadWireFormat.v10.fields())
        #expect(UploadWireFormat.v10.decode(head.fields).offset == 4)
        #expect(server.disk.openFiles == Self.idleFiles)
    }

    @Test func `requests that break are forgotten`() throws {
        var (server, token) = try UploadTable.server(received: 4)
        for id in 2..<100 as Range<UInt64> {
            let isAppend = id % 2 == 0
            if isAppend {
                server.request(id, .patch, .upload(token), try Self.append(digest: nil), contentLength: 6)
            } else {
                server.request(id, .put, .target(.file), [:], contentLength: 6)
            }
            if id % 3 == 0 { server.settle() }
            server.handle(.disconnected(UploadRequestID(id)))
            server.settle()
            #expect(!server.isCurrent(id))
        }
    }
}
