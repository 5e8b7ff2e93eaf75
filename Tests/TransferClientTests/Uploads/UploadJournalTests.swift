import Foundation
import HTTPTypes
import Synchronization
import SystemPackage
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Uploads resumed by a later run, and their files.
@Suite(.timeLimit(.minutes(5))) struct UploadJournalTests {
    private static let bytes = testBytes(900_000)

    private static var cutOnce: UploadServerHabits {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 6 ? 400_000 : nil }
        return habits
    }

    @Test func `the next run resumes an upload, and only the user can read the journal`() async throws {
        try await withUploadServer(.dialect(.v10), Self.cutOnce) { server in
            let folder = try UploadFolder(Self.bytes)
            let request = folder.request(server.url, .post)
            let first = await interruptedUpload(folder, request)
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

    @Test func `a changed file is uploaded from the start, and the old upload is cancelled`()
        async throws
    {
        try await withUploadServer(.dialect(.v10), Self.cutOnce) { server in
            let folder = try UploadFolder(Self.bytes)
            let request = folder.request(server.url)
            let first = await interruptedUpload(folder, request)
            #expect(first.error == .cancelled)
            let changed = Array(Self.bytes.reversed())
            try folder.folder.write(changed, at: folder.source.string)
            let second = await upload(folder, request)
            #expect(second.restarts == [.sourceChanged])
            #expect(server.delivered == [changed])
            #expect(server.requests.contains { $0.method == "DELETE" })
        }
    }

    @Test func `a file that was only touched resumes`() async throws {
        try await withUploadServer(.dialect(.v9), Self.cutOnce) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            request.dialects = .only(.v9)
            let first = await interruptedUpload(folder, request)
            #expect(first.error == .cancelled)
            try folder.folder.write(Self.bytes, at: folder.source.string)
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
                    // Both writes keep the length.
                    if case .progress = event {
                        try? folder.folder.write(Array(Self.bytes.reversed()), at: folder.source.string)
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
            let folder = try UploadFolder(testBytes(30_000_000))
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
            let attempted = await interruptedUpload(folder, folder.request(server.url))
            #expect(!"\(attempted.events) \(attempted.result)".contains("/uploads/1"))
        }
    }

    @Test func `a journal of a newer version is refused and left alone`() async throws {
        try await withUploadServer(.dialect(.v10), Self.cutOnce) { server in
            let folder = try UploadFolder(Self.bytes)
            let request = folder.request(server.url)
            #expect(await interruptedUpload(folder, request).error == .cancelled)
            let path = folder.journals.appending(try #require(folder.journalNames.first))
            var journal = try #require(folder.folder.bytes(path.string))
            journal[8] += 1
            try folder.folder.write(journal, at: path.string)
            let connections = server.requests.count
            let refused = await upload(folder, request)
            guard case .invalidFile(folder.source.string, let words) = refused.error else {
                Issue.record("\(refused.result)")
                return
            }
            #expect(words.contains("newer version of Squall (3)") && words.contains(path.string))
            #expect(server.requests.count == connections)
            #expect(folder.folder.bytes(path.string) == journal)
        }
    }

    /// The server sends no 104, so the upload URL comes with the response to an empty creation.
    @Test func `an upload whose URL came with the response to its creation is continued by the next run`() async throws
    {
        var habits = UploadServerHabits()
        habits.maximumAppend = 300_000
        habits.interimResponses = false
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let request = folder.request(server.url)
            let first = await upload(folder, request, cancelledOn: { $0 == .resumed(offset: 300_000) })
            #expect(first.error == .cancelled)
            #expect(first.events.filter { $0 == .resumable(dialect: 10) }.count == 1)
            let creations = server.requests.filter { $0.method == "PUT" }.count
            let second = await upload(folder, request)
            #expect(second.events.first == .started(total: 900_000, isContinued: true))
            #expect(second.resumedAt.first ?? 0 >= 300_000)
            #expect(server.requests.filter { $0.method == "PUT" }.count == creations)
            #expect(server.delivered == [Self.bytes])
            #expect(folder.journalNames.isEmpty)
        }
    }

    @Test func `the URL of an upload is on the disk before more is sent`() async throws {
        var habits = UploadServerHabits()
        habits.isDeaf = true
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let journals = Mutex<[[UInt8]]>([])
            let seen = await upload(
                folder,
                folder.request(server.url),
                // The content waits for the resource without limit.
                configure: { configuration in
                    configuration.interimResponseLimit = .seconds(3_600)
                    configuration.clock.sleep = TransferClock.system.sleep
                },
                cancelledOn: { event in
                    guard case .resumable = event else {
                        // Nothing was sent before: the first progress follows the journal.
                        if case .progress = event { #expect(journals.withLock { $0.count } == 1) }
                        return false
                    }
                    let paths = folder.journalNames.map { folder.journals.appending($0).string }
                    journals.withLock { $0 = paths.compactMap { folder.folder.bytes($0) } }
                    return true
                }
            )
            #expect(seen.error == .cancelled)
            let journal = try #require(journals.withLock { $0.first })
            #expect(String(decoding: journal, as: UTF8.self).contains("/uploads/1"))
        }
    }

    /// The content is sent before the server names the upload, so the journal is empty at completion.
    @Test func `a POST whose upload was named after its last bytes isn't sent again by the next run`() async throws {
        var habits = UploadServerHabits()
        habits.informsLate = true
        habits.mute = [0]
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(testBytes(20_000))
            let request = folder.request(server.url, .post)
            let first = await interruptedUpload(folder, request)
            #expect(first.error == .cancelled)
            #expect(folder.journalNames.count == 1)
            server.forgetUploads()
            let second = await upload(folder, request)
            #expect(second.error == .refused(.outcomeUnknown))
            #expect(server.delivered.count == 1)
        }
    }
}
