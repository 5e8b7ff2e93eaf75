import Digests
import Foundation
import HTTPTypes
import Synchronization
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Uploads of bytes in memory and of streams.
@Suite(.timeLimit(.minutes(5))) struct UploadContentTests {
    private static let bytes = testBytes(700_000)
    private static let unnamed = [UploadKind.memory, .stream]

    @Test(arguments: UploadWireFormat.allCases, unnamed)
    func `memory and a stream arrive complete and once through cuts`(dialect: UploadWireFormat, kind: UploadKind)
        async throws
    {
        for seed in UInt64(1)...3 {
            var habits = UploadServerHabits()
            habits.cut = cuts(seed: seed, most: 200_000)
            try await withUploadServer(.dialect(dialect), habits) { server in
                let folder = try UploadFolder(Self.bytes)
                let attempted = await upload(folder, folder.request(server.url, .post), from: kind)
                #expect(attempted.error == nil)
                #expect(server.delivered == [Self.bytes])
                #expect(attempted.summary?.dialect == Int(dialect.interopVersion))
                #expect(attempted.resumedAt.last ?? 0 > 0)
                #expect(attempted.summary?.sha256 == SHA256.hash(Self.bytes))
                #expect(folder.journalNames.isEmpty)
                #expect(await folder.closesFiles())
            }
        }
    }

    @Test(arguments: [UploadServerKind.ordinary, .nioExtras, .wrapped], unnamed)
    func `memory and a stream arrive at servers of all kinds`(server kind: UploadServerKind, source: UploadKind)
        async throws
    {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 2 ? 300_000 : nil }
        try await withUploadServer(kind, habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await upload(folder, folder.request(server.url), from: source)
            #expect(attempted.error == nil)
            #expect(server.delivered == [Self.bytes])
        }
    }

    @Test(arguments: unnamed) func `empty content arrives`(kind: UploadKind) async throws {
        try await withUploadServer(.dialect(.v10)) { server in
            let folder = try UploadFolder([])
            let attempted = await upload(folder, folder.request(server.url), from: kind)
            #expect(attempted.summary?.bytes == 0)
            #expect(server.delivered == [[]])
        }
    }

    /// Uploads until the server has cut the connection and reported an offset; then cancels.
    private func interrupted(_ folder: UploadFolder, _ request: UploadRequest, from kind: UploadKind) async
        -> Attempted
    {
        await upload(folder, request, from: kind, cancelledOn: { if case .resumed = $0 { true } else { false } })
    }

    @Test(arguments: [
        (UploadKind.memory, UploadKind.memory), (.memory, .stream), (.stream, .memory), (.stream, .stream),
    ])
    func `the same bytes resume where they were interrupted, whatever their source`(
        first: UploadKind,
        second: UploadKind
    ) async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 6 ? 400_000 : nil }
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let request = folder.request(server.url, .post)
            #expect(await interrupted(folder, request, from: first).error == .cancelled)
            #expect(folder.journalNames.count == 1)
            #expect(await folder.closesFiles())
            let again = await upload(folder, request, from: second)
            #expect(again.events.first == .started(total: 700_000, isContinued: true))
            #expect(again.resumedAt.first ?? 0 > 0)
            #expect(server.delivered == [Self.bytes])
            #expect(server.requests.count { $0.method == "POST" } == 1)
            #expect(folder.journalNames.isEmpty)
        }
    }

    @Test func `other bytes to the same URL are another upload, and the first is still remembered`() async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 6 ? 400_000 : nil }
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let request = folder.request(server.url, .post)
            #expect(await interrupted(folder, request, from: .memory).error == .cancelled)
            let other = Array(Self.bytes.reversed())
            try folder.folder.write(other, at: folder.source.string)
            let second = await upload(folder, request, from: .memory)
            #expect(second.events.first == .started(total: 700_000, isContinued: false))
            #expect(server.delivered == [other])
            #expect(folder.journalNames.count == 1)
        }
    }

    @Test(arguments: unnamed) func `a digest that doesn't match the content fails before anything is sent`(
        kind: UploadKind
    )
        async throws
    {
        try await withUploadServer(.dialect(.v10)) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            let actual = SHA256.hash(Self.bytes)
            request.sha256 = [UInt8](repeating: 7, count: 32)
            let attempted = await upload(folder, request, from: kind)
            #expect(attempted.error == .digestDiffers(named: [UInt8](repeating: 7, count: 32), actual: actual))
            #expect(attempted.error?.disposition == .invalidInput)
            #expect(server.requests.isEmpty)
            #expect(folder.journalNames.isEmpty)
            request.sha256 = actual
            #expect(await upload(folder, request, from: kind).error == nil)
        }
    }

    @Test(arguments: UploadKind.allCases)
    func `without a folder for journals nothing is remembered, and cuts are survived`(kind: UploadKind) async throws {
        var habits = UploadServerHabits()
        habits.cut = cuts(seed: 5, most: 200_000)
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            request.journalFolder = nil
            let attempted = await upload(folder, request, from: kind)
            #expect(attempted.error == nil)
            #expect(attempted.resumedAt.last ?? 0 > 0)
            #expect(server.delivered == [Self.bytes])
            let isStream = kind == .stream
            #expect(folder.folder.names == ["source.bin"] + (isStream ? ["state"] : []))
            #expect(folder.journalNames.isEmpty)
        }
        habits.cut = { $0 < 6 ? 400_000 : nil }
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            request.journalFolder = nil
            #expect(await interrupted(folder, request, from: kind).error == .cancelled)
            #expect(folder.journalNames.isEmpty)
            #expect(await folder.closesFiles())
            let again = await upload(folder, request, from: kind)
            #expect(again.events.first == .started(total: 700_000, isContinued: false))
            #expect(server.delivered == [Self.bytes])
        }
    }
}
