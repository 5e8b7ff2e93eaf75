import HTTPSemantics
import HTTPTypes
import ResumableUploads
import Testing
import TransferProtocol

/// Digests of requests and of representations (RFC 9530).
@Suite struct UploadIntegrityTests {
    private static let content = [UInt8].numbered(10)

    /// An append of the bytes from offset 4, with their digest in `name`.
    private static func append(
        _ dialect: UploadWireFormat,
        count: Int = 6,
        _ name: String,
        _ digest: ReprDigest
    ) throws -> HTTPFields {
        var fields = dialect.fields(isComplete: count == 6, offset: 4, isAppend: true)
        fields[try #require(HTTPField.Name(name))] = digest.headerValue
        return fields
    }

    private static func offset(_ server: inout SimulatedServer, _ id: UInt64, _ token: UploadToken) throws -> Int64? {
        let dialect = UploadWireFormat.newest
        let head = try UploadTable.response(&server, id, .head, .upload(token), dialect.fields())
        return dialect.decode(head.fields).offset
    }

    @Test(arguments: UploadWireFormat.allCases)
    func `content is appended only if it matches its digest`(dialect: UploadWireFormat) throws {
        var (server, token) = try UploadTable.server(dialect, received: 4)
        let rest = Array(Self.content[4...])
        let wrong = try Self.append(dialect, "Content-Digest", Self.content.digest)
        let refused = try UploadTable.response(&server, 2, .patch, .upload(token), wrong, content: rest)
        #expect(refused.status == 400)
        #expect(dialect.decode(refused.fields).isComplete == false)
        #expect(try Self.offset(&server, 3, token) == 4)
        let part = try Self.append(dialect, count: 2, "Content-Digest", Array(rest[..<2]).digest)
        let taken = try UploadTable.response(&server, 4, .patch, .upload(token), part, content: Array(rest[..<2]))
        #expect(taken.status == dialect.rules.incompleteAppendStatus)
        #expect(try Self.offset(&server, 5, token) == 6)
        let last = dialect.fields(isComplete: true, offset: 6, isAppend: true)
        let final = try UploadTable.response(&server, 6, .patch, .upload(token), last, content: Array(rest[2...]))
        #expect(final.status == 201)
        #expect(try server.file("file.bin") == Self.content)
    }

    @Test(arguments: [false, true])
    func `content that must have a digest isn't kept when it is cut off`(isReplaced: Bool) throws {
        var (server, token) = try UploadTable.server(received: 4)
        let rest = Array(Self.content[4...])
        let fields = try Self.append(.newest, "Content-Digest", rest.digest)
        server.request(2, .patch, .upload(token), fields, contentLength: 6)
        server.settle()
        server.handle(.content(UploadRequestID(2), Array(rest[..<3])))
        server.now.elapsed += .seconds(5)
        server.settle()
        // A second has passed, and nothing is acknowledged yet.
        for case .interim(_, let response) in server.takeSent() {
            #expect(UploadWireFormat.newest.decode(response.fields).offset == nil)
        }
        if !isReplaced { server.handle(.disconnected(UploadRequestID(2))) }
        #expect(try Self.offset(&server, 3, token) == 4)
        let final = try UploadTable.response(&server, 4, .patch, .upload(token), fields, content: rest)
        #expect(final.status == 201)
    }

    @Test func `an ordinary request whose content hasn't its digest leaves nothing`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let fields: HTTPFields = [
            try #require(HTTPField.Name("Content-Digest")): [UInt8].numbered(9).digest.headerValue
        ]
        let refused = try UploadTable.response(&server, 1, .put, .target(.file), fields, content: Self.content)
        #expect(refused.status == 400)
        #expect(server.count == 0)
        #expect(try server.file("file.bin") == nil)
    }

    @Test func `the last append may carry the digest of the representation`() throws {
        let dialect = UploadWireFormat.newest
        for (named, status) in [(Self.content, 201), ([1, 2, 3], 400)] {
            var (server, token) = try UploadTable.server(received: 4)
            let fields = try Self.append(dialect, "Repr-Digest", named.digest)
            let rest = Array(Self.content[4...])
            let final = try UploadTable.response(&server, 2, .patch, .upload(token), fields, content: rest)
            #expect(final.status == status)
            // The target's own response, so that the client doesn't resume the upload.
            #expect(dialect.decode(final.fields).isComplete == true)
            #expect(try (server.file("file.bin") == Self.content) == (status == 201))
        }
    }

    @Test func `a representation digest that differs from that of the creation is refused`() throws {
        let dialect = UploadWireFormat.newest
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        var fields = dialect.fields(isComplete: false, length: 10)
        fields[.reprDigest] = Self.content.digest.headerValue
        server.request(1, .post, .target(.file), fields, contentLength: 0)
        server.handle(.contentEnded(UploadRequestID(1)))
        server.settle()
        guard case .interim(_, let response) = server.takeSent().first, let location = response.fields[.location],
            let token = UploadToken(location.dropFirst("/.uploads/".count))
        else { throw ScriptedUploader.Broken(reason: "no 104") }
        var append = dialect.fields(isComplete: true, offset: 0, isAppend: true)
        append[.reprDigest] = [UInt8].numbered(3).digest.headerValue
        let refused = try UploadTable.response(&server, 2, .patch, .upload(token), append, content: Self.content)
        #expect(refused.status == 400)
        #expect(dialect.decode(refused.fields).isComplete == false)
        append[.reprDigest] = Self.content.digest.headerValue
        #expect(
            try UploadTable.response(&server, 3, .patch, .upload(token), append, content: Self.content).status == 201
        )
    }
}
