import HTTPSemantics
import HTTPTypes
import ResumableUploads
import Testing
import TransferProtocol

/// Expiry, limits and plain uploads. The store works unless a test says otherwise.
@Suite struct UploadLimitTests {
    @Test func `a removed upload is gone, and so is one that expired`() throws {
        var (server, token) = try UploadTable.server(received: 4)
        let dialect = UploadWireFormat.v10
        #expect(try UploadTable.response(&server, 2, .delete, .upload(token), dialect.fields()).status == 204)
        #expect(try UploadTable.response(&server, 3, .head, .upload(token), dialect.fields()).status == 404)
        #expect(try server.disk.names(in: "/up/.squall-uploads") == ["lock"])
        (server, token) = try UploadTable.server(received: 4)
        server.now.wall += 3_599
        #expect(try UploadTable.response(&server, 2, .head, .upload(token), dialect.fields()).status == 204)
        server.now.wall += 3_600
        server.handle(.tick)
        server.settle()
        #expect(server.count == 0)
        #expect(try UploadTable.response(&server, 3, .head, .upload(token), dialect.fields()).status == 404)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a removed upload doesn't come back with the power`(seed: UInt64) throws {
        var (server, token) = try UploadTable.server(received: 4, seed: seed)
        let dialect = UploadWireFormat.v10
        #expect(try UploadTable.response(&server, 2, .delete, .upload(token), dialect.fields()).status == 204)
        server.stop()
        server.disk.restart(after: .power)
        try server.begin()
        #expect(server.count == 0)
        #expect(try UploadTable.response(&server, 3, .head, .upload(token), dialect.fields()).status == 404)
    }

    @Test func `an upload lives no longer than its lifetime, however busy it is`() throws {
        var (server, token) = try UploadTable.server(received: 4)
        for id in 2..<26 {
            server.now.wall += 3_590
            #expect(
                try UploadTable.response(&server, UInt64(id), .head, .upload(token), UploadWireFormat.v10.fields())
                    .status
                    == 204
            )
        }
        server.now.wall += 240
        server.handle(.tick)
        server.settle()
        #expect(server.count == 0)
    }

    @Test func `beyond the limit of unfinished uploads Retry-After says when one of them expires`() throws {
        var policy = UploadPolicy()
        policy.maximumUploads = 1
        var (server, _) = try UploadTable.server(received: 4, policy: policy)
        server.now.wall += 600
        let refused = try UploadTable.response(&server, 2, .put, .target(.file), [:], content: [1])
        #expect(refused.status == 503)
        #expect(refused.fields[.retryAfter] == "3000")
        server.now.wall += 2_999
        #expect(
            try UploadTable.response(&server, 3, .put, .target(.file), [:], content: [1]).fields[.retryAfter] == "1"
        )
        // It makes room at that very moment, also before the next tick.
        server.now.wall += 1
        #expect(try UploadTable.response(&server, 4, .put, .target(.file), [:], content: [1]).status == 201)
    }

    @Test func `while a client is sending, others wait a minute at most for room`() throws {
        var server = try SimulatedServer(seed: 1)
        server.policy.maximumUploads = 1
        try server.begin()
        server.request(1, .put, .target(.file), UploadWireFormat.v10.fields(isComplete: true), contentLength: 4)
        server.settle()
        let refused = try UploadTable.response(&server, 2, .put, .target(.file), [:], content: [1])
        #expect(refused.fields[.retryAfter] == "60")
    }

    @Test func `finished uploads don't block the next one, also after a restart`() throws {
        var server = try SimulatedServer(seed: 1)
        server.policy.maximumUploads = 50
        try server.begin()
        let fields = UploadWireFormat.v10.fields(isComplete: true)
        for id in 1...100 as ClosedRange<UInt64> {
            server.now.elapsed += .seconds(1)
            server.now.wall += 1
            let response = try UploadTable.response(&server, id, .put, .target(.file), fields, content: [1])
            #expect(response.status == (id == 1 ? 201 : 204))
        }
        #expect(server.count == server.policy.maximumUploads)
        server.stop()
        try server.begin()
        #expect(try UploadTable.response(&server, 101, .put, .target(.file), [:], content: [2]).status == 204)
        #expect(try server.file("file.bin") == [2])
    }

    @Test func `the outcome that was asked for longest ago makes room`() throws {
        var server = try SimulatedServer(seed: 1)
        server.policy.maximumUploads = 2
        try server.begin()
        let fields = UploadWireFormat.v10.fields(isComplete: true)
        func upload(_ id: UInt64) throws -> UploadToken {
            server.now.elapsed += .seconds(1)
            server.request(id, .put, .target(.file), fields, contentLength: 0)
            server.settle()
            guard case .interim(_, let named)? = server.takeSent().first, let location = named.fields[.location],
                let token = UploadToken(location.dropFirst("/.uploads/".count))
            else { throw ScriptedUploader.Broken(reason: "") }
            server.handle(.contentEnded(UploadRequestID(id)))
            server.settle()
            _ = server.takeSent()
            return token
        }
        func status(_ id: UInt64, _ token: UploadToken) throws -> Int {
            server.now.elapsed += .seconds(1)
            return try UploadTable.response(&server, id, .head, .upload(token), UploadWireFormat.v10.fields()).status
        }
        let first = try upload(1)
        let second = try upload(2)
        #expect(try status(3, first) == 204)
        let third = try upload(4)
        #expect(try status(5, first) == 204)
        #expect(try status(6, second) == 404)
        #expect(try status(7, third) == 204)
        #expect(try server.disk.names(in: "/up/.squall-uploads").count == 3)
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

    @Test func `a part in a version that isn't negotiated is refused, and the newest version named`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let partial: [HTTPFields] = [
            [.uploadDraftInteropVersion: "4", .uploadComplete: "?0"], [.uploadIncomplete: "?1"],
        ]
        for (id, fields) in partial.enumerated() {
            let refused = try UploadTable.response(&server, UInt64(id + 1), .put, .target(.file), fields, content: [1])
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
        server.handle(.disconnected(UploadRequestID(1)))
        server.settle()
        #expect(try server.disk.names(in: "/up") == [".squall-uploads"])
        #expect(try server.disk.names(in: "/up/.squall-uploads") == ["lock"])
    }

    @Test func `bytes without the digest that was announced replace nothing`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        #expect(try UploadTable.response(&server, 1, .put, .target(.file), [:], content: [1]).status == 201)
        var fields = UploadWireFormat.v10.fields(isComplete: true)
        fields[.reprDigest] = [UInt8]([1, 2, 3]).digest.headerValue
        let refused = try UploadTable.response(&server, 2, .put, .target(.file), fields, content: [1, 2, 4])
        #expect(refused.status == 400)
        #expect(refused.fields[.uploadComplete] == "?1")
        #expect(try server.file("file.bin") == [1])
        #expect(try UploadTable.response(&server, 3, .put, .target(.file), fields, content: [1, 2, 3]).status == 204)
        #expect(try server.file("file.bin") == [1, 2, 3])
    }

    @Test func `a file that must be new replaces nothing, and neither does one replace a folder`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let isNew: HTTPFields = [.ifNoneMatch: "*"]
        #expect(try UploadTable.response(&server, 1, .put, .target(.file), isNew, content: [1]).status == 201)
        #expect(try UploadTable.response(&server, 2, .put, .target(.file), isNew, content: [2]).status == 412)
        #expect(try server.file("file.bin") == [1])
        try server.disk.makeFolder("/up/folder")
        let folder = UploadTarget(name: "folder", location: "/folder")
        #expect(try UploadTable.response(&server, 3, .put, .target(folder), [:], content: [1]).status == 409)
    }

    @Test(arguments: [UploadWireFormat?.none, .newest])
    func `a file is replaced only if the conditions of the request hold`(dialect: UploadWireFormat?) throws {
        let date = "Sat, 01 Jan 2050 00:00:00 GMT"
        // The status without and with an existing target.
        let table: [(HTTPFields, Int, Int)] = [
            ([.ifMatch: "*"], 412, 204), ([.ifMatch: "\"a\""], 412, 412), ([.ifMatch: ""], 412, 412),
            ([.ifMatch: "\"1\""], 412, 204), ([.ifMatch: "\"a\", \"1\""], 412, 204),
            ([.ifMatch: "W/\"1\""], 412, 412), ([.ifMatch: "\"1"], 412, 412),
            ([.ifNoneMatch: "\"a\""], 201, 412), ([.ifNoneMatch: "*, \"a\""], 201, 412),
            ([.ifUnmodifiedSince: date], 201, 412), ([.ifUnmodifiedSince: "today"], 201, 204),
            ([.ifMatch: "*", .ifUnmodifiedSince: date], 412, 204),
            ([.ifMatch: "\"1\"", .ifNoneMatch: "*"], 412, 412), ([.ifModifiedSince: date], 201, 204),
        ]
        for (conditions, new, old) in table {
            var server = try SimulatedServer(seed: 1)
            try server.begin()
            var fields = dialect?.fields(isComplete: true, length: 1) ?? [:]
            for field in conditions { fields[field.name] = field.value }
            #expect(try UploadTable.response(&server, 1, .put, .target(.file), fields, content: [1]).status == new)
            if new != 201 {
                #expect(try UploadTable.response(&server, 2, .put, .target(.file), [:], content: [1]).status == 201)
            }
            #expect(
                try UploadTable.response(&server, 3, .put, .target(.file), fields, content: [2]).status == old,
                "\(conditions)"
            )
            #expect(try server.file("file.bin") == (old == 412 ? [1] : [2]))
        }
    }

    @Test func `a file that changes during an upload with If-Match isn't replaced, also after a crash`() throws {
        for crashes in [false, true] {
            var server = try SimulatedServer(seed: 1)
            try server.begin()
            let plain = { (id: UInt64, bytes: [UInt8], server: inout SimulatedServer) in
                try UploadTable.response(&server, id, .put, .target(.file), [:], content: bytes).status
            }
            #expect(try plain(1, [1], &server) == 201)
            var fields = UploadWireFormat.v10.fields(isComplete: false, length: 2)
            fields[.ifMatch] = "\"1\""
            let created = try UploadTable.response(&server, 2, .put, .target(.file), fields, content: [2])
            let location = try #require(created.fields[.location])
            let token = try #require(UploadToken(location.dropFirst("/.uploads/".count)))
            #expect(try plain(3, [3, 3], &server) == 204)
            if crashes {
                server.stop()
                try server.begin()
            }
            fields = UploadWireFormat.v10.fields(isComplete: true, offset: 1, isAppend: true)
            let refused = try UploadTable.response(&server, 4, .patch, .upload(token), fields, content: [2])
            #expect(refused.status == 412)
            #expect(refused.fields[.uploadComplete] == "?1")
            #expect(try server.file("file.bin") == [3, 3])
        }
    }

    @Test func `parts and codings of an ordinary upload are refused`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let part: HTTPFields = [.contentRange: "bytes 4-5/6"]
        #expect(try UploadTable.response(&server, 1, .put, .target(.file), part, content: [1]).status == 400)
        #expect(
            try UploadTable.response(&server, 2, .put, .target(.file), [.contentEncoding: "gzip"], content: [1]).status
                == 415
        )
    }

    @Test func `a full disk is reported, and the upload resumes from its last checkpoint`() throws {
        var (server, token) = try UploadTable.server(received: 4)
        let dialect = UploadWireFormat.v10
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
        let head = try UploadTable.response(&server, 3, .head, .upload(token), dialect.fields())
        #expect(dialect.decode(head.fields).offset == 4)
        let rest = Array([UInt8].numbered(10)[4...])
        #expect(try UploadTable.response(&server, 4, .patch, .upload(token), fields, content: rest).status == 201)
        #expect(try server.file("file.bin") == .numbered(10))
    }

    @Test func `progress is reported at most once a second, and fifty times, with the time that is left`() throws {
        var server = try SimulatedServer(seed: 1)
        server.policy.checkpointBytes = 1
        try server.begin()
        let fields = UploadWireFormat.v10.fields(isComplete: true)
        server.request(1, .put, .target(.file), fields, contentLength: nil)
        server.settle()
        var reported: [Int64] = []
        for step in 0..<20_000 {
            server.handle(.content(UploadRequestID(1), [UInt8(truncatingIfNeeded: step)]))
            server.settle()
            let before = reported.count
            for case .interim(_, let response) in server.takeSent() where response.fields[.location] == nil {
                #expect(response.status == 104)
                let progress = UploadWireFormat.v10.decode(response.fields)
                reported.append(try #require(progress.offset))
                #expect(progress.limits?.lifetime == 3_600)
            }
            #expect(reported.count <= before + 1)
            server.now.elapsed += step < 10_000 ? .milliseconds(100) : .seconds(100_000)
        }
        #expect(reported == reported.sorted())
        #expect(reported.count == 49)
    }

    @Test func `OPTIONS reports the limits, with a status that every client accepts`() throws {
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        let response = try UploadTable.response(&server, 1, .options, .target(.file), [:])
        #expect(response.status == 200)
        #expect(response.fields[.uploadLimit] == "max-size=17179869184, max-age=3600")
        let old = try UploadTable.response(&server, 2, .options, .target(.file), UploadWireFormat.v6.fields())
        #expect(old.fields[.uploadLimit] == "max-size=17179869184, expires=3600")
    }

    @Test func `what a dialect demands of a request is demanded`() throws {
        var (server, token) = try UploadTable.server(.v6, received: 4)
        let upload = UploadRequestHead.Resource.upload(token)
        var fields = UploadWireFormat.v6.fields(isComplete: true, offset: 4)
        #expect(try UploadTable.response(&server, 2, .patch, upload, fields, content: [1]).status == 415)
        fields = UploadWireFormat.v6.fields(isComplete: true, isAppend: true)
        #expect(try UploadTable.response(&server, 3, .patch, upload, fields, content: [1]).status == 400)
        fields = UploadWireFormat.v10.fields(offset: 4, isAppend: true)
        #expect(try UploadTable.response(&server, 4, .patch, upload, fields, content: [1]).status == 400)
        #expect(
            try UploadTable.response(&server, 5, .head, upload, UploadWireFormat.v6.fields(offset: 4)).status == 400
        )
        #expect(
            try UploadTable.response(&server, 6, .delete, upload, UploadWireFormat.v6.fields(offset: 4)).status == 400
        )
        #expect(try UploadTable.response(&server, 7, .post, upload, UploadWireFormat.v6.fields()).status == 405)
        let head = try UploadTable.response(&server, 8, .get, upload, UploadWireFormat.v10.fields())
        #expect(UploadWireFormat.v10.decode(head.fields).offset == 4)
    }
}
