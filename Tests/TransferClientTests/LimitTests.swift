import Foundation
import Glibc
import SystemPackage
import TestSockets
import TestStreams
import Testing
import TransferClient
import TransferProtocol

@Suite(.timeLimit(.minutes(5))) struct LimitTests {
    private static let resource = Resource(size: 50_000)

    @Test func `a connection that stalls in the body is closed, and the rest requested`() async throws {
        let (done, folder, _) = try await download {
            $0.ordinal == 0 ? Self.resource.serve($0, upTo: 20_000, then: .stall) : Self.resource.serve($0)
        } configure: {
            $0.stall.window = .seconds(1)
        }
        #expect(Set(done.transientFailures) == [.stalled])
        #expect(done.resumedAt.first == 20_000)
        #expect(folder.file == Self.resource.content)
    }

    @Test func `a connection to a server that doesn't respond is closed`() async throws {
        let (done, folder, _) = try await download {
            $0.ordinal == 0 ? [.stall] : Self.resource.serve($0)
        } configure: {
            $0.firstByteLimit = .seconds(1)
        }
        #expect(done.transientFailures.contains(.firstByteTimedOut))
        #expect(folder.file == Self.resource.content)
    }

    @Test func `a limit that passes before anybody listens to the connection is named`() async throws {
        let (done, _, _) = try await download { _ in
            [.stall]
        } configure: {
            $0.firstByteLimit = .nanoseconds(1)
            $0.retry.maximumAttempts = 20
        }
        #expect(Set(done.transientFailures) == [.firstByteTimedOut])
        #expect(done.error == .gaveUp(.attempts(20), .firstByteTimedOut))
    }

    @Test func `a deadline ends a transfer that hangs`() async throws {
        let (done, _, _) = try await download { _ in
            [.stall]
        } configure: {
            $0.retry.deadline = .seconds(1)
        }
        #expect(done.error == .gaveUp(.deadline(.seconds(1)), .deadlineExceeded))
    }

    @Test func `a port without a listener is retried, then abandoned temporarily`() async throws {
        let folder = try Folder()
        let deaf = TestSocket.refusing()
        let request = DownloadRequest(url: "http://127.0.0.1:\(deaf.address.port)/")
        let done = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 3 }
        guard case .gaveUp(.attempts(3), .connectFailed(let words)) = done.error else {
            Issue.record("\(String(describing: done.error))")
            return
        }
        #expect(words.contains("errno 111"))
        #expect(done.waits.count == 2)
        #expect(folder.names.isEmpty)
    }

    @Test func `the first bytes are reported at once`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0, upTo: 20_000, then: .stall) }.serve { server in
            let (progress, reported) = AsyncStream<Void>.makeStream()
            let task = Task {
                await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.progressInterval = .seconds(3_600)
                    $0.stall.window = .seconds(3_600)
                } onEvent: {
                    if case .progress = $0 { reported.yield() }
                }
            }
            for await _ in progress { break }
            task.cancel()
            let cancelled = await task.value
            #expect(cancelled.error == .cancelled)
        }
    }

    @Test func `a cancelled download is reported as such and can be resumed`() async throws {
        let folder = try Folder()
        try await Script {
            $0.ordinal == 0 ? Self.resource.serve($0, upTo: 20_000, then: .stall) : Self.resource.serve($0)
        }.serve { server in
            let (progress, reported) = AsyncStream<Void>.makeStream()
            let task = Task {
                await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.progressInterval = .zero
                } onEvent: {
                    if case .progress(20_000, _, _) = $0 { reported.yield() }
                }
            }
            for await _ in progress { break }
            task.cancel()
            let cancelled = await task.value
            #expect(cancelled.error == .cancelled)
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(done.events.first == .started(completed: 20_000))
            #expect(folder.file == Self.resource.content)
        }
    }

    @Test func `a second download to the same file is turned away`() async throws {
        let folder = try Folder()
        try await Script {
            $0.ordinal == 0 ? Self.resource.serve($0, upTo: 20_000, then: .stall) : Self.resource.serve($0)
        }.serve { server in
            let (progress, reported) = AsyncStream<Void>.makeStream()
            let first = Task {
                await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.progressInterval = .zero
                } onEvent: {
                    if case .progress(20_000, _, _) = $0 { reported.yield() }
                }
            }
            for await _ in progress { break }
            let second = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(second.error == .locked(folder.part))
            #expect(second.error?.disposition == .resumable)
            #expect(server.requests.count == 1)
            first.cancel()
            _ = await first.value
        }
    }

    @Test func `a journal that another download still has is left to it`() async throws {
        let folder = try Folder()
        // The state between the last two steps of a download: the file is renamed, the journal still exists.
        let journal = try FileDescriptor.open(
            FilePath(folder.journal),
            .readWrite,
            options: [.create, .closeOnExec],
            permissions: .ownerReadWrite
        )
        defer { try? journal.close() }
        #expect(flock(journal.rawValue, LOCK_EX | LOCK_NB) == 0)
        try await Script { Self.resource.serve($0) }.serve { server in
            let early = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(early.error == .locked(folder.journal))
            #expect(early.error?.disposition == .resumable)
            #expect(server.requests.isEmpty)
            #expect(folder.names == [".file.bin.squall-journal"])
            #expect(flock(journal.rawValue, LOCK_UN) == 0)
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(done.summary?.connections == 1)
            #expect(folder.names == ["file.bin"])
        }
    }

    @Test(arguments: [
        "ftp://h/", "file", "http://", "http://u@h/", "http://h:0/", "http://h:65536/",
        "http://[::1/",
        "http://h\u{7}/", "http://é/",
    ])
    func `a URL that can't be used is the caller's mistake`(url: String) async throws {
        let folder = try Folder()
        let done = await attempt(DownloadRequest(url: url), to: folder.destination)
        #expect(done.error?.disposition == .invalidInput)
        #expect(done.events.isEmpty)
        #expect(folder.names.isEmpty)
    }

    @Test func `a destination that can't be a file is the caller's mistake`() async throws {
        let folder = try Folder()
        for path in [folder.path, "/", "", "..", folder.path + "/none/file"] {
            let done = await attempt(DownloadRequest(url: "http://127.0.0.1:1/"), to: FilePath(path))
            #expect(done.error?.disposition == .invalidInput, "\(path)")
        }
        let short = DownloadRequest(url: "http://127.0.0.1:1/", expectedSHA256: [1])
        #expect(await attempt(short, to: folder.destination).error == .invalidDigest(count: 1))
    }

    @Test func `a link in the place of the partial file is not followed`() async throws {
        let folder = try Folder()
        let target = folder.path + "/target"
        try folder.write([1, 2, 3], at: target)
        try FileManager.default.createSymbolicLink(atPath: folder.part, withDestinationPath: target)
        let done = await attempt(DownloadRequest(url: "http://127.0.0.1:1/"), to: folder.destination)
        #expect(done.error?.disposition == .invalidInput)
        #expect(folder.bytes(target) == [1, 2, 3])
    }

    @Test func `an existing file stays until the new one is complete`() async throws {
        let folder = try Folder()
        try folder.write([1, 2, 3], at: folder.destination.string)
        try await Script {
            Self.resource.serve($0, interruptedAfter: 20_000)
        }.serve { server in
            _ = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                $0.retry.maximumAttempts = 1
            }
            #expect(folder.file == [1, 2, 3])
            _ = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(folder.file == Self.resource.content)
        }
    }
}
