import Foundation
import HTTPTypes
import Synchronization
import SystemPackage
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Uploads that a later run continues, and the files that they leave.
@Suite(.timeLimit(.minutes(5))) struct UploadJournalTests {
    private static let bytes = uploadBytes(900_000)

    /// Uploads until the server has cut the connection once, and is then cancelled.
    private static func interrupted(_ folder: UploadFolder, _ request: UploadRequest) async -> AttemptedUpload {
        let task = Mutex<Task<AttemptedUpload, Never>?>(nil)
        let running = Task {
            await upload(
                folder,
                request,
                onEvent: { event in
                    if case .retrying = event { task.withLock { $0?.cancel() } }
                }
            )
        }
        task.withLock { $0 = running }
        return await running.value
    }

    private static var cutOnce: UploadServerHabits {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 6 ? 400_000 : nil }
        return habits
    }

    @Test func `the next run goes on with an upload, and the journal is the user's alone`() async throws {
        try await withUploadServer(.dialect(.v10), Self.cutOnce) { server in
            let folder = try UploadFolder(Self.bytes)
            let request = folder.request(server.url, .post)
            let first = await Self.interrupted(folder, request)
            #expect(first.error == .cancelled)
            let name = try #require(folder.journalNames.first)
            let path = folder.journals.appending(name)
            #expect(try path.stat().permissions == [.ownerReadWrite])
            #expect(try folder.journals.stat().permissions == [.ownerReadWriteExecute])
            let second = await upload(folder, request)
            #expect(second.events.first == .started(total: 900_000, isContinued: true))
            #expect(second.resumedAt.first ?? 0 > 0)
            #expect(server.delivered == [Self.bytes])
            #expect(server.requests.filter { $0.method == "POST" }.count == 1)
            #expect(folder.journalNames.isEmpty)
        }
    }

    @Test func `a file that changed since is uploaded anew, and the server is asked to forget the old upload`()
        async throws
    {
        try await withUploadServer(.dialect(.v10), Self.cutOnce) { server in
            let folder = try UploadFolder(Self.bytes)
            let request = folder.request(server.url)
            let first = await Self.interrupted(folder, request)
            #expect(first.error == .cancelled)
            let changed = Array(Self.bytes.reversed())
            try folder.folder.write(changed, to: folder.source.string)
            let second = await upload(folder, request)
            #expect(second.restarts == [.sourceChanged])
            #expect(server.delivered == [changed])
            #expect(server.requests.contains { $0.method == "DELETE" })
        }
    }

    @Test func `a file that was only touched goes on`() async throws {
        try await withUploadServer(.dialect(.v9), Self.cutOnce) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            request.dialects = .only(.v9)
            let first = await Self.interrupted(folder, request)
            #expect(first.error == .cancelled)
            try folder.folder.write(Self.bytes, to: folder.source.string)
            let second = await upload(folder, request)
            #expect(second.events.first == .started(total: 900_000, isContinued: true))
            #expect(server.delivered == [Self.bytes])
        }
    }

    @Test func `a file that changes while it is uploaded is never completed`() async throws {
        try await withUploadServer(.dialect(.v10)) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await upload(
                folder,
                folder.request(server.url),
                onEvent: { event in
                    // Both writes leave the length as it is.
                    if case .progress = event {
                        try? folder.folder.write(Array(Self.bytes.reversed()), to: folder.source.string)
                    }
                }
            )
            #expect(attempted.error == .sourceChanged(folder.source.string))
            #expect(server.delivered.isEmpty)
            #expect(folder.journalNames.isEmpty)
        }
    }

    @Test func `two uploads of a file to a URL don't run at once`() async throws {
        var habits = UploadServerHabits()
        habits.isDeaf = true
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(uploadBytes(30_000_000))
            let request = folder.request(server.url)
            let (running, signal) = AsyncStream<Void>.makeStream()
            let first = Task {
                await upload(
                    folder,
                    request,
                    onEvent: { event in
                        if case .resumable = event { signal.yield() }
                    }
                )
            }
            for await _ in running { break }
            let second = await upload(folder, request)
            guard case .locked = second.error else {
                Issue.record("\(second.result)")
                return
            }
            #expect(second.error?.disposition == .resumable)
            first.cancel()
            #expect(await first.value.error == .cancelled)
        }
    }

    @Test func `the URL of an upload is in no event and in no error`() async throws {
        try await withUploadServer(.dialect(.v10), Self.cutOnce) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await Self.interrupted(folder, folder.request(server.url))
            #expect(!"\(attempted.events) \(attempted.result)".contains("/uploads/1"))
        }
    }
}
