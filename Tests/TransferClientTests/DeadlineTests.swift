import Foundation
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol
import Units

/// Deadlines that pass while a connection is being made, including its TLS handshake.
@Suite(.timeLimit(.minutes(5))) struct DeadlineTests {
    /// Long enough for a test that waits for it to be noticed.
    private static let never = Duration.seconds(200)
    /// Well before `never`.
    private static let soon = Duration.seconds(150)

    /// A clock that tests advance.
    private final class Clock: Sendable {
        private let ahead = Mutex(Duration.zero)

        func putForward(by duration: Duration) { ahead.withLock { $0 += duration } }

        var transferClock: TransferClock {
            let real = TransferClock.system
            var clock = real
            clock.now = { real.now() + self.ahead.withLock { $0 } }
            clock.sleep = { _ in try Task.checkCancellation() }
            return clock
        }
    }

    /// Accepts connections without ever responding.
    private func withSilentServer(_ body: (Int) async throws -> Void) async throws {
        try await Script { _ in [.stall] }.serve { try await body($0.port) }
    }

    @Test func `a deadline ends a handshake, and is named`() async throws {
        let folder = try Folder()
        try await withSilentServer { port in
            let start = ContinuousClock.now
            let done = await attempt(DownloadRequest(url: "https://127.0.0.1:\(port)/"), to: folder.destination) {
                $0.retry.deadline = .seconds(1)
                $0.connectLimit = Self.never
            }
            #expect(done.error == .gaveUp(.deadline(.seconds(1)), .deadlineExceeded))
            #expect(ContinuousClock.now - start < Self.soon)
        }
    }

    @Test func `a deadline ends the wait for a proxy's tunnel, and is named`() async throws {
        let folder = try Folder()
        try await withSilentServer { port in
            let proxy = try ProxySettings.Proxy("http://127.0.0.1:\(port)")
            let start = ContinuousClock.now
            let done = await attempt(DownloadRequest(url: "https://files.example/"), to: folder.destination) {
                $0.proxies = ProxySettings(http: proxy, https: proxy)
                $0.retry.deadline = .seconds(1)
                $0.connectLimit = Self.never
            }
            #expect(done.error == .gaveUp(.deadline(.seconds(1)), .deadlineExceeded))
            #expect(ContinuousClock.now - start < Self.soon)
        }
    }

    @Test func `the time to connect starts again with each redirection`() async throws {
        let folder = try Folder()
        let clock = Clock()
        try await withSilentServer { port in
            try await Script { _ in
                clock.putForward(by: .seconds(199))
                return [.head(302, ["Location: https://127.0.0.1:\(port)/", "Content-Length: 0"])]
            }.serve { server in
                let start = ContinuousClock.now
                let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.clock = clock.transferClock
                    $0.retry.deadline = Self.never
                    $0.connectLimit = Self.never
                    $0.firstByteLimit = Self.never
                }
                #expect(done.error == .gaveUp(.deadline(Self.never), .deadlineExceeded))
                #expect(ContinuousClock.now - start < Self.soon)
            }
        }
    }

    @Test func `the question about a complete file ends with the deadline, and the file is kept`() async throws {
        let clock = Clock()
        let resource = Resource(size: 10_000)
        let start = ContinuousClock.now
        let (done, folder, _) = try await download { request in
            guard request.method == "HEAD" else {
                // A second is left for the confirmation request.
                clock.putForward(by: .seconds(199))
                return resource.serve(request)
            }
            return [.stall]
        } configure: {
            $0.clock = clock.transferClock
            $0.retry.deadline = Self.never
            $0.firstByteLimit = Self.never
            $0.lateDigestInterval = .zero
        }
        #expect(done.summary != nil)
        #expect(done.summary?.connections == 2)
        #expect(folder.file == resource.content)
        #expect(ContinuousClock.now - start < Self.soon)
    }

    /// Never returns, whatever happens to the task.
    @Sendable private static func ignoreCancellation() async {
        let (gate, opened) = AsyncStream<Void>.makeStream()
        await Task.detached { for await _ in gate {} }.value
        opened.finish()
    }

    private static let short = Duration.milliseconds(200)

    @Test(arguments: [401, 403, 200])
    func `the deadline ends a download whose callback doesn't return`(status: Int) async throws {
        var callbacks = TransferCallbacks()
        callbacks.authenticate = { _ in
            await Self.ignoreCancellation()
            return nil
        }
        callbacks.refreshURL = { _ in
            await Self.ignoreCancellation()
            return nil
        }
        callbacks.accepts = { _ in
            await Self.ignoreCancellation()
            return true
        }
        let fields = ["Content-Length: 3", "WWW-Authenticate: Basic realm=\"x\""]
        let start = ContinuousClock.now
        let (done, _, _) = try await download(callbacks: callbacks) { _ in
            [.head(status, fields), .send([1, 2, 3])]
        } configure: {
            $0.retry.deadline = Self.short
        }
        #expect(done.error == .gaveUp(.deadline(Self.short), .deadlineExceeded))
        #expect(ContinuousClock.now - start < Self.soon)
    }

    @Test func `the deadline ends the hashing of a file`() async throws {
        let folder = try UploadFolder([])
        // Takes minutes to hash, and no room.
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.source.string))
        try file.truncate(atOffset: 1 << 40)
        var configuration = TransferClientConfiguration()
        configuration.retry.deadline = Self.short
        let client = TransferEngine(configuration: configuration)
        let start = ContinuousClock.now
        await #expect(throws: TransferError.gaveUp(.deadline(Self.short), .deadlineExceeded)) {
            try await client.upload(client.content(of: folder.source), folder.request("http://127.0.0.1:1/"))
        }
        #expect(ContinuousClock.now - start < Self.soon)
    }

    @Test func `the deadline ends the reading of a stream`() async throws {
        let folder = try Folder()
        var configuration = TransferClientConfiguration()
        configuration.retry.deadline = Self.short
        let client = TransferEngine(configuration: configuration)
        let stream = AsyncStream<[UInt8]> {
            await Self.ignoreCancellation()
            return nil
        }
        let start = ContinuousClock.now
        await #expect(throws: TransferError.gaveUp(.deadline(Self.short), .deadlineExceeded)) {
            try await client.content(of: stream, spooledIn: FilePath(folder.path))
        }
        #expect(ContinuousClock.now - start < Self.soon)
    }

    @Test func `an upload's deadline ends a handshake, and is named`() async throws {
        let folder = try UploadFolder(testBytes(1_000))
        try await withSilentServer { port in
            let start = ContinuousClock.now
            let attempted = await upload(folder, folder.request("https://127.0.0.1:\(port)/")) {
                $0.retry.deadline = .seconds(1)
                $0.connectLimit = Self.never
            }
            #expect(attempted.error == .gaveUp(.deadline(.seconds(1)), .deadlineExceeded))
            #expect(ContinuousClock.now - start < Self.soon)
        }
    }

    @Test func `an upload's deadline ends a wait for the response, and is named`() async throws {
        let folder = try UploadFolder(testBytes(1_000))
        try await withSilentServer { port in
            let start = ContinuousClock.now
            let attempted = await upload(folder, folder.request("http://127.0.0.1:\(port)/")) {
                $0.retry.deadline = .seconds(1)
                $0.uploadResponseLimit = Self.never
            }
            #expect(attempted.error == .gaveUp(.deadline(.seconds(1)), .deadlineExceeded))
            #expect(ContinuousClock.now - start < Self.soon)
        }
    }

    /// The server of the old upload is silent: cancelling it must respect the deadline of the upload.
    @Test func `the wish to have an upload forgotten ends with the deadline`() async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 1 ? 400_000 : nil }
        habits.silentMethods = ["DELETE"]
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(testBytes(900_000))
            let request = folder.request(server.url)
            let first = await interruptedUpload(folder, request)
            #expect(first.error == .cancelled)
            try folder.folder.write(testBytes(900_001), at: folder.source.string)
            let start = ContinuousClock.now
            let second = await upload(folder, request) {
                $0.retry.deadline = .seconds(1)
                $0.uploadResponseLimit = Self.never
            }
            #expect(second.restarts == [.sourceChanged])
            #expect(ContinuousClock.now - start < Self.soon)
        }
    }
}
