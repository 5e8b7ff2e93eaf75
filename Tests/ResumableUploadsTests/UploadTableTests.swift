import HTTPSemantics
import HTTPTypes
import ResumableUploads
import Testing
import TransferProtocol

/// The core, state by request, in every dialect. The store works.
@Suite struct UploadTableTests {
    @Test(arguments: UploadWireFormat.allCases)
    func `an upload is created, queried, resumed and completed`(dialect: UploadWireFormat) throws {
        var (server, token) = try UploadTable.server(dialect, received: 4)
        let bytes = [UInt8].numbered(10)
        let head = try UploadTable.response(&server, 2, .head, .upload(token), dialect.fields())
        #expect(head.status == 204)
        #expect(head.fields[.cacheControl] == "no-store")
        let fields = dialect.decode(head.fields)
        #expect(fields.offset == 4)
        #expect(fields.isComplete == false)
        #expect(fields.length == (dialect.rules.hasLengthField ? 10 : nil))
        #expect((fields.limits != nil) == dialect.rules.hasLimits)
        let part = try UploadTable.response(
            &server,
            3,
            .patch,
            .upload(token),
            dialect.fields(isComplete: false, offset: 4, isAppend: true),
            content: Array(bytes[4..<6])
        )
        #expect(part.status == dialect.rules.incompleteAppendStatus)
        #expect(dialect.decode(part.fields).isComplete == false)
        #expect(dialect.decode(part.fields).offset == 6)
        let final = try UploadTable.response(
            &server,
            4,
            .patch,
            .upload(token),
            dialect.fields(isComplete: true, offset: 6, isAppend: true),
            content: Array(bytes[6...])
        )
        #expect(final.status == 201)
        #expect(dialect.decode(final.fields).isComplete == true)
        #expect(final.fields[.location] == "/file.bin")
        #expect(final.fields[.reprDigest] == bytes.digest.headerValue)
        #expect(try server.file("file.bin") == bytes)
    }

    @Test(
        arguments: [
            HTTPField(name: .contentEncoding, value: "gzip"), HTTPField(name: .contentRange, value: "bytes 4-9/10"),
        ]
    )
    func `an append of other bytes than the file's is refused, and one without its version that ends it by mistake`(
        field: HTTPField
    ) throws {
        var (server, token) = try UploadTable.server(.v3, received: 4)
        var fields = UploadWireFormat.v3.fields(isComplete: true, offset: 4, isAppend: true)
        fields.append(field)
        let coded = try UploadTable.response(&server, 2, .patch, .upload(token), fields, content: [1])
        #expect(coded.status == (field.name == .contentEncoding ? 415 : 400))
        fields = UploadWireFormat.v3.fields(isComplete: false, offset: 4, isAppend: true)
        fields[.uploadDraftInteropVersion] = nil
        let partial = try UploadTable.response(&server, 3, .patch, .upload(token), fields, content: [1])
        #expect(partial.status == 400)
        let head = try UploadTable.response(&server, 4, .head, .upload(token), UploadWireFormat.v3.fields())
        #expect(UploadWireFormat.v3.decode(head.fields).offset == 4)
    }

    @Test func `an upload whose lifetime has no end doesn't expire`() throws {
        var policy = UploadPolicy()
        (policy.lifetime, policy.idleTimeout) = (.max, .max)
        var (server, token) = try UploadTable.server(received: 4, policy: policy)
        let head = try UploadTable.response(&server, 2, .head, .upload(token), UploadWireFormat.newest.fields())
        #expect(head.status == 204)
    }

    @Test(arguments: UploadWireFormat.allCases)
    func `a lost final response is sent again`(dialect: UploadWireFormat) throws {
        var (server, token) = try UploadTable.server(dialect, received: 4)
        let append = dialect.fields(isComplete: true, offset: 4, isAppend: true)
        let final = try UploadTable.response(
            &server,
            2,
            .patch,
            .upload(token),
            append,
            content: Array([UInt8].numbered(10)[4...])
        )
        let head = dialect.decode(
            try UploadTable.response(&server, 3, .head, .upload(token), dialect.fields()).fields
        )
        #expect(head.offset == 10)
        #expect(head.isComplete == true)
        let finish = dialect.fields(isComplete: true, offset: 10, isAppend: true)
        #expect(try UploadTable.response(&server, 4, .patch, .upload(token), finish) == final)
        server.stop()
        server.disk.restart(after: .power)
        try server.begin()
        #expect(try UploadTable.response(&server, 5, .patch, .upload(token), finish) == final)
        let late = try UploadTable.response(&server, 6, .patch, .upload(token), append, content: [1, 2, 3, 4, 5, 6])
        #expect(late.status == (dialect.rules.completedAppend == .refuseAsCompleted ? 400 : 409))
    }

    /// A client of the other versions takes a complete upload for an accepted one.
    @Test(arguments: UploadWireFormat.allCases)
    func `a refused upload is complete only where its client asks for the lost response`(dialect: UploadWireFormat)
        throws
    {
        var (server, token) = try UploadTable.server(dialect, received: 4)
        var append = dialect.fields(isComplete: true, offset: 4, isAppend: true)
        append[.reprDigest] = [UInt8].numbered(9).digest.headerValue
        let rest = Array([UInt8].numbered(10)[4...])
        let final = try UploadTable.response(&server, 2, .patch, .upload(token), append, content: rest)
        #expect(final.status == 400)
        let finish = dialect.fields(isComplete: true, offset: 10, isAppend: true)
        for id in [3, 5] as [UInt64] {
            let head = try UploadTable.response(&server, id, .head, .upload(token), dialect.fields())
            let isComplete = dialect.rules.completedAppend == .replayOrRefuse
            #expect(head.status == (isComplete ? 204 : 404))
            #expect(dialect.decode(head.fields).isComplete == isComplete)
            #expect(try UploadTable.response(&server, id + 1, .patch, .upload(token), finish).status == 400)
            server.stop()
            server.disk.restart(after: .power)
            try server.begin()
        }
    }

    @Test(arguments: UploadWireFormat.allCases)
    func `a wrong offset gets the right one, and changes nothing`(dialect: UploadWireFormat) throws {
        var (server, token) = try UploadTable.server(dialect, received: 4)
        for (id, offset) in [(2, 3), (3, 5), (4, 10)] {
            let fields = dialect.fields(isComplete: true, offset: Int64(offset), isAppend: true)
            let conflict = try UploadTable.response(&server, UInt64(id), .patch, .upload(token), fields, content: [1])
            #expect(conflict.status == 409)
            #expect(dialect.decode(conflict.fields).offset == 4)
            #expect(dialect.decode(conflict.fields).isComplete == false)
            if dialect.rules.hasProblemDetails {
                let problem = ProblemDetails(json: conflict.content)
                #expect(problem == .mismatchingOffset(expected: 4, provided: Int64(offset)))
            }
            let head = try UploadTable.response(&server, UInt64(10 + id), .head, .upload(token), dialect.fields())
            #expect(dialect.decode(head.fields).offset == 4)
        }
    }

    @Test func `lengths that contradict each other are refused, and content beyond the length ends the upload`() throws
    {
        let dialect = UploadWireFormat.v10
        var (server, token) = try UploadTable.server(received: 4)
        func append(_ id: UInt64, _ length: Int64?, _ count: Int, isChunked: Bool = false) throws -> Int {
            let fields = dialect.fields(isComplete: true, offset: 4, length: length, isAppend: true)
            let response = try UploadTable.response(
                &server,
                id,
                .patch,
                .upload(token),
                fields,
                content: .numbered(count),
                isChunked: isChunked
            )
            #expect(response.status == 404 || ProblemDetails(json: response.content) == .inconsistentLength)
            return response.status
        }
        #expect(try append(2, 11, 6) == 400)
        #expect(try append(3, 10, 5) == 400)
        let head = try UploadTable.response(&server, 4, .head, .upload(token), dialect.fields())
        #expect(dialect.decode(head.fields).offset == 4)
        #expect(try append(5, 10, 7, isChunked: true) == 400)
        #expect(try append(6, 10, 6) == 404)
        #expect(server.count == 0)
    }

    @Test func `the length of a creation is checked before its content is read`() throws {
        var server = try SimulatedServer(seed: 1)
        server.policy.maximumSize = 100
        server.policy.minimumSize = 5
        server.policy.maximumAppendSize = 50
        try server.begin()
        let dialect = UploadWireFormat.v10
        func create(_ id: UInt64, _ isComplete: Bool, length: Int64?, count: Int64?) -> UploadResponse? {
            let fields = dialect.fields(isComplete: isComplete, length: length)
            server.request(id, .put, .target(.file), fields, contentLength: count)
            for case .respond(_, let response) in server.takeSent() { return response }
            return nil
        }
        #expect(create(1, true, length: 10, count: 11)?.status == 400)
        #expect(create(2, false, length: 10, count: 11)?.status == 400)
        let tooLarge = create(3, false, length: 101, count: 0)
        #expect(tooLarge?.status == 413)
        let limits = tooLarge.flatMap { dialect.decode($0.fields).limits }
        #expect(limits?.maximumSize == 100)
        #expect(limits?.minimumSize == 5)
        #expect(limits?.maximumAppendSize == 50)
        #expect(limits?.lifetime == 3_600)
        #expect(create(4, true, length: 4, count: 4)?.status == 400)
        #expect(create(5, true, length: 60, count: 60)?.status == 413)
        #expect(server.count == 0)
        #expect(create(6, false, length: 100, count: 50) == nil)
        #expect(server.count == 1)
    }

    @Test func `content beyond a limit is refused as it arrives, whatever the head said`() throws {
        var policy = UploadPolicy()
        policy.maximumSize = 20
        policy.maximumAppendSize = 8
        var (server, token) = try UploadTable.server(received: 4, length: nil, policy: policy)
        let dialect = UploadWireFormat.v10
        let fields = dialect.fields(isComplete: false, offset: 4, isAppend: true)
        let refused = try UploadTable.response(
            &server,
            2,
            .patch,
            .upload(token),
            fields,
            content: .numbered(9),
            isChunked: true
        )
        #expect(refused.status == 413)
        #expect(dialect.decode(refused.fields).limits?.maximumAppendSize == 8)
        let accepted = try UploadTable.response(
            &server,
            3,
            .patch,
            .upload(token),
            fields,
            content: .numbered(8),
            isChunked: true
        )
        #expect(accepted.status == 204)
    }

    @Test func `a newer request replaces an older one, and gets a valid offset`() throws {
        var (server, token) = try UploadTable.server(received: 4)
        let dialect = UploadWireFormat.v10
        let fields = dialect.fields(isComplete: true, offset: 4, isAppend: true)
        server.request(2, .patch, .upload(token), fields, contentLength: 6)
        server.settle()
        server.handle(.content(UploadRequestID(2), [7, 8]))
        // The store hasn't written it yet.
        server.request(3, .head, .upload(token), dialect.fields(), contentLength: 0)
        #expect(server.takeSent().contains(.close(UploadRequestID(2))))
        server.handle(.content(UploadRequestID(2), [9]))
        server.settle()
        guard case .respond(UploadRequestID(3), let head)? = server.takeSent().last else {
            Issue.record("no response to HEAD")
            return
        }
        let offset = try #require(dialect.decode(head.fields).offset)
        #expect(offset == 6)
        let next = dialect.fields(isComplete: false, offset: offset, isAppend: true)
        #expect(try UploadTable.response(&server, 4, .patch, .upload(token), next, content: [9]).status == 204)
    }

    @Test func `no offset is acknowledged before its bytes are on disk`() throws {
        var (server, token) = try UploadTable.server(received: 4)
        let fields = UploadWireFormat.v10.fields(isComplete: false, offset: 4, isAppend: true)
        server.request(2, .patch, .upload(token), fields, contentLength: 6)
        server.settle()
        server.handle(.content(UploadRequestID(2), [7, 8]))
        server.settle()
        _ = server.takeSent()
        server.handle(.disconnected(UploadRequestID(2)))
        server.request(3, .head, .upload(token), UploadWireFormat.v10.fields(), contentLength: 0)
        #expect(server.takeSent().isEmpty)
        server.disk.setFaults(.init(stop: 1))
        server.settle()
        #expect(server.takeSent().isEmpty)
    }

    @Test func `what arrived before a connection broke, or was replaced, is kept`() throws {
        let dialect = UploadWireFormat.v10
        for isReplaced in [false, true] {
            var (server, token) = try UploadTable.server(received: 4)
            let fields = dialect.fields(isComplete: true, offset: 4, isAppend: true)
            server.request(2, .patch, .upload(token), fields, contentLength: 6)
            server.settle()
            server.handle(.content(UploadRequestID(2), [7, 8]))
            // The store is still busy with the first chunk.
            server.handle(.content(UploadRequestID(2), [9]))
            if !isReplaced { server.handle(.disconnected(UploadRequestID(2))) }
            let head = try UploadTable.response(&server, 3, .head, .upload(token), dialect.fields())
            #expect(dialect.decode(head.fields).offset == 7)
        }
    }
}
