import HTTPTypes
import ResumableUploads
import Testing
import TransferProtocol

/// The core, a state and a request at a time, in every dialect. The store works.
@Suite struct UploadTableTests {
    /// A server with one upload of `received` bytes out of `length`, and the token of it.
    private static func server(
        _ dialect: UploadDialect = .newest,
        received: Int = 0,
        length: Int64? = 10,
        policy: UploadPolicy = UploadPolicy()
    ) throws -> (SimulatedServer, UploadToken) {
        var server = try SimulatedServer(seed: 1)
        server.policy = policy
        try server.begin()
        server.request(
            1,
            .post,
            .target(.file),
            dialect.fields(isComplete: false, length: length),
            contentLength: Int64(received)
        )
        server.settle()
        let sent = server.takeSent()
        guard case .inform(_, let response) = sent.first, let location = response.fields[.location],
            let token = UploadToken(location.dropFirst("/.uploads/".count))
        else { throw ScriptedUploader.Broken(reason: "\(sent)") }
        if received > 0 { server.handle(.content(UploadRequestID(1), .numbered(received))) }
        server.handle(.contentEnded(UploadRequestID(1)))
        server.settle()
        _ = server.takeSent()
        return (server, token)
    }

    /// The final response to a request without content, or with all of it at once.
    private func answer(
        _ server: inout SimulatedServer,
        _ id: UInt64,
        _ method: HTTPRequest.Method,
        _ resource: UploadRequest.Resource,
        _ fields: HTTPFields,
        content: [UInt8] = [],
        isChunked: Bool = false
    ) throws -> UploadResponse {
        server.request(id, method, resource, fields, contentLength: isChunked ? nil : Int64(content.count))
        server.settle()
        if case .receive = server.sent.last {
            if !content.isEmpty { server.handle(.content(UploadRequestID(id), content)) }
            server.handle(.contentEnded(UploadRequestID(id)))
            server.settle()
        }
        for case .respond(UploadRequestID(id), let response) in server.takeSent() { return response }
        throw ScriptedUploader.Broken(reason: "no answer")
    }

    @Test(arguments: UploadDialect.allCases)
    func `an upload is created, asked for, resumed and completed`(dialect: UploadDialect) throws {
        var (server, token) = try Self.server(dialect, received: 4)
        let bytes = [UInt8].numbered(10)
        let head = try answer(&server, 2, .head, .upload(token), dialect.fields())
        #expect(head.status == 204)
        #expect(head.fields[.cacheControl] == "no-store")
        let fields = UploadFields(head.fields, in: dialect)
        #expect(fields.offset == 4)
        #expect(fields.isComplete == false)
        #expect(fields.length == (dialect.rules.hasLengthField ? 10 : nil))
        #expect((fields.limits != nil) == dialect.rules.hasLimits)
        let part = try answer(
            &server,
            3,
            .patch,
            .upload(token),
            dialect.fields(isComplete: false, offset: 4, isAppend: true),
            content: Array(bytes[4..<6])
        )
        #expect(part.status == dialect.rules.incompleteAppendStatus)
        #expect(UploadFields(part.fields, in: dialect).isComplete == false)
        #expect(UploadFields(part.fields, in: dialect).offset == 6)
        let final = try answer(
            &server,
            4,
            .patch,
            .upload(token),
            dialect.fields(isComplete: true, offset: 6, isAppend: true),
            content: Array(bytes[6...])
        )
        #expect(final.status == 201)
        #expect(UploadFields(final.fields, in: dialect).isComplete == true)
        #expect(final.fields[.location] == "/file.bin")
        #expect(final.fields[.reprDigest] == bytes.digest.headerValue)
        #expect(try server.file("file.bin") == bytes)
    }

    @Test(arguments: UploadDialect.allCases)
    func `a lost final answer is sent again`(dialect: UploadDialect) throws {
        var (server, token) = try Self.server(dialect, received: 4)
        let append = dialect.fields(isComplete: true, offset: 4, isAppend: true)
        let final = try answer(
            &server,
            2,
            .patch,
            .upload(token),
            append,
            content: Array([UInt8].numbered(10)[4...])
        )
        let head = UploadFields(try answer(&server, 3, .head, .upload(token), dialect.fields()).fields, in: dialect)
        #expect(head.offset == 10)
        #expect(head.isComplete == true)
        let finish = dialect.fields(isComplete: true, offset: 10, isAppend: true)
        #expect(try answer(&server, 4, .patch, .upload(token), finish) == final)
        server.stop()
        server.disk.restart(after: .power)
        try server.begin()
        #expect(try answer(&server, 5, .patch, .upload(token), finish) == final)
        let late = try answer(&server, 6, .patch, .upload(token), append, content: [1, 2, 3, 4, 5, 6])
        #expect(late.status == (dialect.rules.completedAppend == .refuseAsCompleted ? 400 : 409))
    }

    @Test(arguments: UploadDialect.allCases)
    func `a wrong offset gets the right one, and changes nothing`(dialect: UploadDialect) throws {
        var (server, token) = try Self.server(dialect, received: 4)
        for (id, offset) in [(2, 3), (3, 5), (4, 10)] {
            let fields = dialect.fields(isComplete: true, offset: Int64(offset), isAppend: true)
            let conflict = try answer(&server, UInt64(id), .patch, .upload(token), fields, content: [1])
            #expect(conflict.status == 409)
            #expect(UploadFields(conflict.fields, in: dialect).offset == 4)
            #expect(UploadFields(conflict.fields, in: dialect).isComplete == false)
            if dialect.rules.hasProblemDetails {
                let problem = ProblemDetails(json: conflict.content)
                #expect(problem == .mismatchingOffset(expected: 4, provided: Int64(offset)))
            }
            let head = try answer(&server, UInt64(10 + id), .head, .upload(token), dialect.fields())
            #expect(UploadFields(head.fields, in: dialect).offset == 4)
        }
    }

    @Test func `lengths that contradict each other are refused, and content beyond the length ends the upload`() throws
    {
        let dialect = UploadDialect.v10
        var (server, token) = try Self.server(received: 4)
        func append(_ id: UInt64, _ length: Int64?, _ count: Int, isChunked: Bool = false) throws -> Int {
            let fields = dialect.fields(isComplete: true, offset: 4, length: length, isAppend: true)
            let response = try answer(
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
        let head = try answer(&server, 4, .head, .upload(token), dialect.fields())
        #expect(UploadFields(head.fields, in: dialect).offset == 4)
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
        let dialect = UploadDialect.v10
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
        let limits = tooLarge.flatMap { UploadFields($0.fields, in: dialect).limits }
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
        var (server, token) = try Self.server(received: 4, length: nil, policy: policy)
        let dialect = UploadDialect.v10
        let fields = dialect.fields(isComplete: false, offset: 4, isAppend: true)
        let refused = try answer(
            &server,
            2,
            .patch,
            .upload(token),
            fields,
            content: .numbered(9),
            isChunked: true
        )
        #expect(refused.status == 413)
        #expect(UploadFields(refused.fields, in: dialect).limits?.maximumAppendSize == 8)
        let accepted = try answer(&server, 3, .patch, .upload(token), fields, content: .numbered(8), isChunked: true)
        #expect(accepted.status == 204)
    }

    @Test func `a newer request takes the place of an older one, and gets an offset that holds`() throws {
        var (server, token) = try Self.server(received: 4)
        let dialect = UploadDialect.v10
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
            Issue.record("no answer to HEAD")
            return
        }
        let offset = try #require(UploadFields(head.fields, in: dialect).offset)
        #expect(offset == 6)
        let next = dialect.fields(isComplete: false, offset: offset, isAppend: true)
        #expect(try answer(&server, 4, .patch, .upload(token), next, content: [9]).status == 204)
    }

    @Test func `no offset is told before its bytes are on the disk`() throws {
        var (server, token) = try Self.server(received: 4)
        let fields = UploadDialect.v10.fields(isComplete: false, offset: 4, isAppend: true)
        server.request(2, .patch, .upload(token), fields, contentLength: 6)
        server.settle()
        server.handle(.content(UploadRequestID(2), [7, 8]))
        server.settle()
        _ = server.takeSent()
        server.handle(.broke(UploadRequestID(2)))
        server.request(3, .head, .upload(token), UploadDialect.v10.fields(), contentLength: 0)
        #expect(server.takeSent().isEmpty)
        server.disk.setFaults(.init(stop: 1))
        server.settle()
        #expect(server.takeSent().isEmpty)
    }

    @Test func `a removed upload is gone, and so is one that expired`() throws {
        var (server, token) = try Self.server(received: 4)
        let dialect = UploadDialect.v10
        #expect(try answer(&server, 2, .delete, .upload(token), dialect.fields()).status == 204)
        #expect(try answer(&server, 3, .head, .upload(token), dialect.fields()).status == 404)
        #expect(try server.disk.names(in: "/up/.squall-uploads") == ["lock"])
        (server, token) = try Self.server(received: 4)
        server.now.wall += 3_599
        #expect(try answer(&server, 2, .head, .upload(token), dialect.fields()).status == 204)
        server.now.wall += 3_600
        server.handle(.tick)
        server.settle()
        #expect(server.count == 0)
        #expect(try answer(&server, 3, .head, .upload(token), dialect.fields()).status == 404)
    }

    @Test func `an upload lives no longer than its lifetime, however busy it is`() throws {
        var (server, token) = try Self.server(received: 4)
        for id in 2..<26 {
            server.now.wall += 3_590
            #expect(try answer(&server, UInt64(id), .head, .upload(token), UploadDialect.v10.fields()).status == 204)
        }
        server.now.wall += 240
        server.handle(.tick)
        server.settle()
        #expect(server.count == 0)
    }

    @Test func `there are as many uploads as the limit says`() throws {
        var policy = UploadPolicy()
        policy.uploads = 1
        var (server, _) = try Self.server(received: 4, policy: policy)
        let refused = try answer(&server, 2, .put, .target(.file), [:], content: [1])
        #expect(refused.status == 503)
        #expect(refused.fields[.retryAfter] == "60")
    }

    @Test func `a request of no version, or of an unknown one, is an ordinary one`() throws {
        let versions: [HTTPFields] = [[:], [.uploadDraftInteropVersion: "99", .uploadComplete: "?1"]]
        for fields in versions {
            var server = try SimulatedServer(seed: 1)
            try server.begin()
            server.request(1, .put, .target(.file), fields, contentLength: 3)
            server.settle()
            #expect(server.takeSent() == [.receive(UploadRequestID(1))])
            server.handle(.content(UploadRequestID(1), [1, 2, 3]))
            server.handle(.contentEnded(UploadRequestID(1)))
            server.settle()
            guard case .respond(_, let response)? = server.takeSent().last else {
                throw ScriptedUploader.Broken(reason: "")
            }
            #expect(response.status == 201)
            #expect(response.fields[.uploadComplete] == nil)
            #expect(try server.file("file.bin") == [1, 2, 3])
            #expect(server.count == 0)
        }
    }

    @Test func `a part in a version that isn't spoken is refused, and the newest version named`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let partial: [HTTPFields] = [
            [.uploadDraftInteropVersion: "4", .uploadComplete: "?0"], [.uploadIncomplete: "?1"],
        ]
        for (id, fields) in partial.enumerated() {
            let refused = try answer(&server, UInt64(id + 1), .put, .target(.file), fields, content: [1])
            #expect(refused.status == 400)
            #expect(refused.fields[.uploadDraftInteropVersion] == "10")
        }
    }

    @Test func `an ordinary request that breaks leaves nothing`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        server.request(1, .put, .target(.file), [:], contentLength: 3)
        server.settle()
        server.handle(.content(UploadRequestID(1), [1, 2]))
        server.settle()
        server.handle(.broke(UploadRequestID(1)))
        server.settle()
        #expect(try server.disk.names(in: "/up") == [".squall-uploads"])
        #expect(try server.disk.names(in: "/up/.squall-uploads") == ["lock"])
    }

    @Test func `bytes without the digest that was announced replace nothing`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        #expect(try answer(&server, 1, .put, .target(.file), [:], content: [1]).status == 201)
        var fields = UploadDialect.v10.fields(isComplete: true)
        fields[.reprDigest] = [UInt8]([1, 2, 3]).digest.headerValue
        let refused = try answer(&server, 2, .put, .target(.file), fields, content: [1, 2, 4])
        #expect(refused.status == 400)
        #expect(refused.fields[.uploadComplete] == "?1")
        #expect(try server.file("file.bin") == [1])
        #expect(try answer(&server, 3, .put, .target(.file), fields, content: [1, 2, 3]).status == 204)
        #expect(try server.file("file.bin") == [1, 2, 3])
    }

    @Test func `a file that must be new replaces nothing, and neither does one replace a folder`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let isNew: HTTPFields = [.ifNoneMatch: "*"]
        #expect(try answer(&server, 1, .put, .target(.file), isNew, content: [1]).status == 201)
        #expect(try answer(&server, 2, .put, .target(.file), isNew, content: [2]).status == 412)
        #expect(try server.file("file.bin") == [1])
        try server.disk.makeFolder("/up/folder")
        let folder = UploadTarget(name: "folder", location: "/folder")
        #expect(try answer(&server, 3, .put, .target(folder), [:], content: [1]).status == 409)
    }

    @Test func `parts and codings of an ordinary upload are refused`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let part: HTTPFields = [.contentRange: "bytes 4-5/6"]
        #expect(try answer(&server, 1, .put, .target(.file), part, content: [1]).status == 400)
        #expect(try answer(&server, 2, .put, .target(.file), [.contentEncoding: "gzip"], content: [1]).status == 415)
    }

    @Test func `a full disk is told, and the upload goes on from its last checkpoint`() throws {
        var (server, token) = try Self.server(received: 4)
        let dialect = UploadDialect.v10
        let fields = dialect.fields(isComplete: true, offset: 4, isAppend: true)
        server.request(2, .patch, .upload(token), fields, contentLength: 6)
        server.settle()
        // The first call of an append opens the file, the second writes.
        server.disk.setFaults(.init(failures: [server.disk.calls + 1: .noSpace, server.disk.calls + 2: .noSpace]))
        server.handle(.content(UploadRequestID(2), .numbered(6)))
        server.settle()
        guard case .respond(_, let refused)? = server.takeSent().last else { throw ScriptedUploader.Broken(reason: "") }
        #expect(refused.status == 507)
        #expect(refused.fields[.uploadComplete] == "?0")
        server.disk.setFaults(.init())
        let head = try answer(&server, 3, .head, .upload(token), dialect.fields())
        #expect(UploadFields(head.fields, in: dialect).offset == 4)
        let rest = Array([UInt8].numbered(10)[4...])
        #expect(try answer(&server, 4, .patch, .upload(token), fields, content: rest).status == 201)
        #expect(try server.file("file.bin") == .numbered(10))
    }

    @Test func `progress is told once a second at most, and fifty times`() throws {
        var server = try SimulatedServer(seed: 1)
        server.policy.checkpointBytes = 1
        try server.begin()
        let fields = UploadDialect.v10.fields(isComplete: true)
        server.request(1, .put, .target(.file), fields, contentLength: nil)
        server.settle()
        var told: [Int64] = []
        for step in 0..<20_000 {
            server.handle(.content(UploadRequestID(1), [UInt8(truncatingIfNeeded: step)]))
            server.settle()
            let before = told.count
            for case .inform(_, let response) in server.takeSent() where response.fields[.location] == nil {
                #expect(response.status == 104)
                told.append(try #require(UploadFields(response.fields, in: .v10).offset))
            }
            #expect(told.count <= before + 1)
            server.now.elapsed += step < 10_000 ? .milliseconds(100) : .seconds(100_000)
        }
        #expect(told == told.sorted())
        #expect(told.count == 49)
    }

    @Test func `OPTIONS tells the limits, with a status that every client takes`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let response = try answer(&server, 1, .options, .target(.file), [:])
        #expect(response.status == 200)
        #expect(response.fields[.uploadLimit] == "max-size=17179869184, max-age=3600")
        let old = try answer(&server, 2, .options, .target(.file), UploadDialect.v6.fields())
        #expect(old.fields[.uploadLimit] == "max-size=17179869184, expires=3600")
    }

    @Test func `what a dialect demands of a request is demanded`() throws {
        var (server, token) = try Self.server(.v6, received: 4)
        let upload = UploadRequest.Resource.upload(token)
        var fields = UploadDialect.v6.fields(isComplete: true, offset: 4)
        #expect(try answer(&server, 2, .patch, upload, fields, content: [1]).status == 415)
        fields = UploadDialect.v6.fields(isComplete: true, isAppend: true)
        #expect(try answer(&server, 3, .patch, upload, fields, content: [1]).status == 400)
        fields = UploadDialect.v10.fields(offset: 4, isAppend: true)
        #expect(try answer(&server, 4, .patch, upload, fields, content: [1]).status == 400)
        #expect(try answer(&server, 5, .head, upload, UploadDialect.v6.fields(offset: 4)).status == 400)
        #expect(try answer(&server, 6, .delete, upload, UploadDialect.v6.fields(offset: 4)).status == 400)
        #expect(try answer(&server, 7, .post, upload, UploadDialect.v6.fields()).status == 405)
        let head = try answer(&server, 8, .get, upload, UploadDialect.v10.fields())
        #expect(UploadFields(head.fields, in: .v10).offset == 4)
    }
}
