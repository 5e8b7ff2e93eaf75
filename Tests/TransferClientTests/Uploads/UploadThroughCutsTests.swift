import HTTPTypes
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Uploads over connections that are cut.
@Suite(.timeLimit(.minutes(5))) struct UploadThroughCutsTests {
    private static let bytes = testBytes(700_000)

    @Test(arguments: UploadWireFormat.allCases, [HTTPRequest.Method.put, .post])
    func `an upload through cuts arrives complete and once`(dialect: UploadWireFormat, method: HTTPRequest.Method)
        async throws
    {
        for seed in UInt64(1)...3 {
            var habits = UploadServerHabits()
            habits.cut = cuts(seed: seed, most: 200_000)
            try await withUploadServer(.dialect(dialect), habits) { server in
                let folder = try UploadFolder(Self.bytes)
                let attempted = await upload(folder, folder.request(server.url, method))
                #expect(attempted.error == nil)
                #expect(server.delivered == [Self.bytes])
                #expect(attempted.summary?.dialect == Int(dialect.interopVersion))
                #expect(attempted.resumedAt == attempted.resumedAt.sorted())
                #expect(attempted.resumedAt.last ?? 0 > 0)
                #expect(folder.journalNames.isEmpty)
            }
        }
    }

    @Test(arguments: [UploadFormatChoice.automatic, .only(.v3), .only(.v5), .only(.v6)])
    func `swift-nio-extras' handler gets an upload complete and once through cuts`(
        dialects: UploadFormatChoice
    ) async throws {
        for seed in UInt64(1)...3 {
            var habits = UploadServerHabits()
            habits.cut = cuts(seed: seed, most: 200_000)
            try await withUploadServer(.nioExtras, habits) { server in
                let folder = try UploadFolder(Self.bytes)
                var request = folder.request(server.url, .post)
                request.dialects = dialects
                let attempted = await upload(folder, request)
                #expect(attempted.error == nil)
                #expect(server.delivered == [Self.bytes])
                #expect(attempted.resumedAt.last ?? 0 > 0)
                if dialects == .automatic { #expect(attempted.summary?.dialect == 6) }
            }
        }
    }

    @Test(arguments: [UploadFormatChoice.automatic] + UploadWireFormat.allCases.map { .only($0) })
    func `our handler forwards an upload complete and once through cuts`(dialects: UploadFormatChoice) async throws {
        for seed in UInt64(1)...3 {
            var habits = UploadServerHabits()
            habits.cut = cuts(seed: seed, most: 200_000)
            try await withUploadServer(.wrapped, habits) { server in
                let folder = try UploadFolder(Self.bytes)
                var request = folder.request(server.url)
                request.dialects = dialects
                let attempted = await upload(folder, request)
                #expect(attempted.error == nil)
                #expect(server.delivered == [Self.bytes])
                #expect(attempted.resumedAt == attempted.resumedAt.sorted())
                #expect(attempted.resumedAt.last ?? 0 > 0)
                if dialects == .automatic { #expect(attempted.summary?.dialect == 10) }
            }
        }
    }

    @Test func `any progress starts the count of attempts again`() async throws {
        var habits = UploadServerHabits()
        habits.cut = { _ in 70_000 }
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            // Each cut costs at most two attempts: a connection may be cut before anything is acknowledged.
            let attempted = await upload(folder, folder.request(server.url)) { $0.retry.maximumAttempts = 4 }
            #expect(attempted.error == nil)
            #expect(server.delivered == [Self.bytes])
        }
    }

    @Test func `a PUT that can't be resumed is sent again`() async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 2 ? 300_000 : nil }
        try await withUploadServer(.ordinary, habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await upload(folder, folder.request(server.url))
            #expect(attempted.summary?.uploadProof == .accepted)
            #expect(attempted.summary?.dialect == nil)
            #expect(attempted.summary?.connections == 3)
            #expect(server.delivered == [Self.bytes])
        }
    }

    @Test func `a POST that can't be resumed is sent once, unless it may be repeated`() async throws {
        var habits = UploadServerHabits()
        habits.mute = [0]
        try await withUploadServer(.ordinary, habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await upload(folder, folder.request(server.url, .post))
            guard case .refused(.notRepeatable) = attempted.error else {
                Issue.record("\(attempted.result)")
                return
            }
            #expect(attempted.error?.disposition == .final)
            #expect(server.delivered.count == 1)
        }
        try await withUploadServer(.ordinary, habits) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url, .post)
            request.isRepeatable = true
            let attempted = await upload(folder, request)
            #expect(attempted.summary?.status == 201)
            #expect(server.delivered.count == 2)
        }
    }

    @Test(arguments: [UploadWireFormat.v6, .v8, .v9, .v10])
    func `a lost response is sent again, or the upload is complete but unverified`(
        dialect: UploadWireFormat
    ) async throws {
        var habits = UploadServerHabits()
        habits.mute = [0]
        try await withUploadServer(.dialect(dialect), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url, .post)
            request.dialects = .only(dialect)
            let attempted = await upload(folder, request)
            let isReplayed = dialect.rules.completedAppend == .replayOrRefuse
            #expect(attempted.summary?.uploadProof == (isReplayed ? .accepted : .complete))
            #expect(attempted.summary?.status == (isReplayed ? 201 : nil))
            #expect(server.delivered == [Self.bytes])
        }
    }

    @Test func `a server that takes small requests only gets small ones`() async throws {
        var habits = UploadServerHabits()
        habits.maximumAppend = 150_000
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await upload(folder, folder.request(server.url))
            #expect(attempted.error == nil)
            #expect(server.delivered == [Self.bytes])
            let lengths = server.requests.filter { $0.method == "PATCH" }.compactMap { $0.fields[.contentLength] }
            #expect(lengths == ["150000", "150000", "150000", "150000", "100000"])
        }
    }
}
