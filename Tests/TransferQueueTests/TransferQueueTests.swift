import Digests
import DurableFiles
import Foundation
import Glibc
import SimulatedDisk
import Synchronization
import SystemPackage
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

@testable import TransferQueue

/// Queues in the process of their caller.
@Suite(.timeLimit(.minutes(2))) struct TransferQueueTests {
    /// The lines of a queue's log, to be waited for.
    private struct Lines: Sendable {
        private let stream: AsyncStream<String>
        let tell: @Sendable (String) -> Void

        init() {
            let (stream, continuation) = AsyncStream<String>.makeStream()
            self.stream = stream
            tell = { continuation.yield($0) }
        }

        func wait(for sign: String) async {
            for await line in stream where line.contains(sign) { return }
        }
    }

    private func open(
        _ folder: Folder,
        surroundings: QueueSurroundings? = nil,
        files: any FileSystem = SystemFiles(),
        _ change: (inout TransferQueueConfiguration) -> Void = { _ in }
    ) async throws -> TransferQueue {
        var configuration = TransferQueueConfiguration()
        configuration.folder = folder.file("queue")
        change(&configuration)
        return try await TransferQueue(
            identifier: "test",
            configuration: configuration,
            tls: nil,
            proxies: .none,
            surroundings: surroundings,
            files: files
        )
    }

    /// Submits a download at a rate in bytes per second, and waits for its first bytes.
    private func begin(
        _ url: String,
        at rate: Int64,
        _ folder: Folder,
        _ queue: TransferQueue
    ) async throws -> QueueJobID {
        var transfer = QueuedTransfer.download(url, to: folder.file("file"))
        transfer.maximumRate = rate
        let id = try await queue.submit(transfer)
        _ = try await wait(queue, id) { $0.completedBytes > 50_000 }
        return id
    }

    /// The first status of a job that fulfils a condition.
    private func wait(
        _ queue: TransferQueue,
        _ id: QueueJobID,
        until isRight: (QueueJobStatus) -> Bool
    ) async throws -> QueueJobStatus {
        for try await status in queue.updates() where status.id == id && isRight(status) { return status }
        throw TransferQueueError(.closed, "the queue was closed")
    }

    private func process(of queue: TransferQueue) -> QueueRunner? {
        if case .process(let runner) = queue.host { runner } else { nil }
    }

    /// The code of the error that `body` throws; `nil` if it throws none.
    private func code(_ body: () async throws -> Void) async -> TransferQueueError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? TransferQueueError)?.code
        }
    }

    private func next(_ events: QueueEvents.Iterator) async throws -> QueueEvent? {
        while let element = try await events.next() {
            if case .event(let event) = element { return event }
        }
        return nil
    }

    @Test func `downloads and uploads are done, and each is told with its evidence`() async throws {
        let folder = try Folder()
        try folder.write(testBytes(40_000), to: "up.bin")
        try await FileServer.run { server in
            server.put(testBytes(70_000), at: "/down")
            let queue = try await open(folder)
            let down = try await queue.submit(.download(server.url + "/down", to: folder.file("down.bin")))
            let up = try await queue.submit(.upload(folder.file("up.bin"), to: server.url + "/up"))
            let first = try await wait(queue, down) { $0.phase.isFinal }
            let second = try await wait(queue, up) { $0.phase.isFinal }
            #expect(first.phase == .completed)
            #expect(first.result?.bytes == 70_000)
            #expect(second.phase == .completed)
            #expect(folder.bytes(of: "down.bin") == testBytes(70_000))
            #expect(server.bytes(at: "/up") == testBytes(40_000))
            #expect(try await queue.statuses().map(\.id) == [down, up])
            await queue.close()
        }
    }

    @Test func `a queue that is opened again has its jobs, and goes on where it was`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(900_000), at: "/file")
            var queue = try await open(folder)
            var transfer = QueuedTransfer.download(server.url + "/file", to: folder.file("file"))
            transfer.maximumRate = 600_000
            let id = try await queue.submit(transfer)
            let part = try await wait(queue, id) { $0.completedBytes > 100_000 }
            #expect(part.phase == .running)
            await queue.close()
            #expect(await code { _ = try await queue.statuses() } == .closed)
            #expect(try await queue.events().makeAsyncIterator().next() == nil)
            queue = try await open(folder)
            let again = try await wait(queue, id) { $0.phase == .running && $0.completedBytes > 0 }
            #expect(again.completedBytes >= 100_000)
            #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
            #expect(folder.bytes(of: "file") == testBytes(900_000))
            #expect(server.requests.last?.headers["range"] != nil)
            await queue.close()
        }
    }

    @Test func `a job that was complete before it could say so isn't fetched again`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(5_000), at: "/file")
            var queue = try await open(folder)
            let id = try await queue.submit(.download(server.url + "/file", to: folder.file("file")))
            let status = try await wait(queue, id) { $0.phase.isFinal }
            await queue.close()
            // The log as it was between the last step and the record of it.
            let (log, state) = try QueueLog.open(in: .init(folder.file("queue")), limits: .init(), files: SystemFiles())
            var job = try #require(state.jobs[id])
            (job.stage, job.event, job.proof) = (.active, nil, status.result)
            var earlier = state
            earlier.put(job)
            try log.append(.job(job), earlier)
            log.close()
            let requests = server.requests.count
            queue = try await open(folder)
            #expect(try await wait(queue, id) { $0.phase.isFinal }.result == status.result)
            #expect(server.requests.count == requests)
            await queue.close()
        }
    }

    @Test func `an event is kept until the next one is asked for, also when the queue is opened again`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(10), at: "/file")
            var queue = try await open(folder)
            let id = try await queue.submit(.download(server.url + "/file", to: folder.file("file")))
            var events = queue.events().makeAsyncIterator()
            let event = try #require(try await next(events))
            #expect(event.job == id)
            #expect(event.phase == .completed)
            #expect(event.result?.bytes == 10)
            await queue.close()
            queue = try await open(folder)
            events = queue.events().makeAsyncIterator()
            #expect(try await events.next() == .event(event))
            #expect(try await queue.prune() == 0)
            #expect(try await events.next() == .allDelivered)
            #expect(try await queue.prune() == 1)
            #expect(try await queue.status(of: id) == nil)
            await queue.close()
            queue = try await open(folder)
            #expect(try await queue.events().makeAsyncIterator().next() == .allDelivered)
            await queue.close()
        }
    }

    @Test func `a job that is refused its credentials waits, and goes on with those that it is given`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(10), at: "/file")
            server.refuse { $0.headers["authorization"] == "Bearer sesame" ? nil : 401 }
            let queue = try await open(folder)
            let id = try await queue.submit(.download(server.url + "/file", to: folder.file("file")))
            #expect(try await wait(queue, id) { $0.phase == .waiting }.reason == .credentials)
            var change = QueueChange()
            change.headers = [QueueHeader("Authorization", .memory)]
            try await queue.resume(id, with: change, secrets: ["authorization": "Bearer sesame"])
            #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
            let log = try #require(folder.bytes(of: "queue/queue.log"))
            #expect(!String(decoding: log, as: UTF8.self).contains("sesame"))
            await queue.close()
        }
    }

    @Test func `a secret in memory is gone with its process, and the job waits for it`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(10), at: "/file")
            var queue = try await open(folder, surroundings: Weather().surroundings(isReachable: false))
            var transfer = QueuedTransfer.download(server.url + "/file", to: folder.file("file"))
            transfer.headers = [QueueHeader("Cookie", .memory)]
            #expect(await code { _ = try await queue.submit(transfer) } == .invalid)
            let id = try await queue.submit(transfer, secrets: ["Cookie": "a=b"])
            await queue.close()
            queue = try await open(folder)
            #expect(try await wait(queue, id) { $0.phase == .waiting }.reason == .secret)
            var change = QueueChange()
            try folder.write(Array("a=c\n".utf8), to: "cookie")
            change.headers = [QueueHeader("cookie", .file(folder.file("cookie")))]
            try await queue.resume(id, with: change)
            #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
            #expect(server.requests.last?.headers["cookie"] == "a=c")
            await queue.close()
        }
    }

    @Test func `an expired URL, a missing folder and others: each waits with its reason, and is done once it can be`()
        async throws
    {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(100), at: "/file")
            server.refuse { $0.path == "/expired" ? 403 : nil }
            let queue = try await open(folder)
            let expired = try await queue.submit(.download(server.url + "/expired", to: folder.file("a")))
            let homeless = try await queue.submit(.download(server.url + "/file", to: folder.file("gone/b")))
            let others = try await withThrowingTaskGroup(of: QueueJobID.self) { tasks in
                for number in 0..<20 {
                    let file = folder.file("other\(number)")
                    tasks.addTask { try await queue.submit(.download(server.url + "/file", to: file)) }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            for id in others { #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed) }
            #expect(try await wait(queue, expired) { $0.phase == .waiting }.reason == .url)
            #expect(try await wait(queue, homeless) { $0.phase == .waiting }.reason == .folder)
            var change = QueueChange()
            change.url = server.url + "/file"
            try await queue.resume(expired, with: change)
            try folder.makeFolder("gone")
            try await queue.resume(homeless)
            #expect(try await wait(queue, expired) { $0.phase.isFinal }.phase == .completed)
            #expect(try await wait(queue, homeless) { $0.phase.isFinal }.phase == .completed)
            #expect(folder.bytes(of: "gone/b") == testBytes(100))
            await queue.close()
        }
    }

    @Test func `a URL of another origin doesn't get the headers of a job`() async throws {
        let folder = try Folder()
        try folder.write(Array("Bearer sesame\n".utf8), to: "token")
        try await FileServer.run { first in
            first.refuse { _ in 403 }
            try await FileServer.run { second in
                second.put(testBytes(10), at: "/file")
                let queue = try await open(folder)
                var transfer = QueuedTransfer.download(first.url + "/file", to: folder.file("file"))
                transfer.headers = [
                    QueueHeader("Authorization", .file(folder.file("token"))), QueueHeader("X-Secret", .memory),
                    QueueHeader("Accept", .plain("*/*")),
                ]
                let id = try await queue.submit(transfer, secrets: ["X-Secret": "sesame"])
                _ = try await wait(queue, id) { $0.reason == .url }
                #expect(first.requests.last?.headers["authorization"] == "Bearer sesame")
                var change = QueueChange()
                change.url = second.url + "/file"
                change.headers = [QueueHeader("X-Other", .memory)]
                try await queue.resume(id, with: change, secrets: ["X-Other": "open"])
                #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
                let headers = try #require(second.requests.last?.headers)
                #expect(headers["authorization"] == nil && headers["x-secret"] == nil)
                #expect(headers["accept"] == "*/*" && headers["x-other"] == "open")
                await queue.close()
            }
        }
    }

    @Test func `an upload whose file hasn't its digest fails, and sends nothing`() async throws {
        let folder = try Folder()
        try folder.write(testBytes(100), to: "file")
        try await FileServer.run { server in
            let queue = try await open(folder)
            var transfer = QueuedTransfer(.upload, url: server.url + "/new", file: folder.file("file"))
            transfer.sha256 = Array(repeating: 17, count: 32)
            let id = try await queue.submit(transfer)
            let failed = try await wait(queue, id) { $0.phase.isFinal }
            #expect(failed.phase == .failed && failed.reason == .digest && server.requests.isEmpty)
            await queue.close()
        }
    }

    @Test func `a file that isn't there fails for good, and can be resumed by another URL`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(1), at: "/file")
            let queue = try await open(folder)
            let id = try await queue.submit(.download(server.url + "/none", to: folder.file("file")))
            let failed = try await wait(queue, id) { $0.phase.isFinal }
            #expect(failed.phase == .failed)
            #expect(failed.reason == .refused)
            var change = QueueChange()
            change.url = server.url + "/file"
            try await queue.resume(id, with: change)
            #expect(try await wait(queue, id) { $0.phase == .completed }.result?.bytes == 1)
            await queue.close()
        }
    }

    @Test func `a server that says nothing for the time limit of a request is tried again`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            let queue = try await open(folder)
            var transfer = QueuedTransfer.download(server.url + "/silent", to: folder.file("file"))
            transfer.requestTimeLimit = .milliseconds(50)
            let id = try await queue.submit(transfer)
            let status = try await wait(queue, id) { $0.phase == .waiting }
            #expect(status.reason == .retry)
            #expect(status.until != nil)
            #expect(server.requests.count == 4)
            await queue.close()
        }
    }

    @Test func `a download whose partial file is removed underneath starts over`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(400_000), at: "/file")
            let queue = try await open(folder)
            let id = try await begin(server.url + "/file", at: 600_000, folder, queue)
            try FileManager.default.removeItem(atPath: folder.file(".file.squall-part"))
            #expect(try await wait(queue, id) { $0.phase != .running }.reason == .folder)
            try await queue.resume(id)
            #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
            #expect(folder.bytes(of: "file") == testBytes(400_000))
            await queue.close()
        }
    }

    @Test func `a login page costs a download nothing whose digest is known`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(400_000), at: "/file")
            server.put(testBytes(19), at: "/login")
            let queue = try await open(folder)
            var transfer = QueuedTransfer.download(server.url + "/file", to: folder.file("file"))
            transfer.sha256 = SHA256.hash(testBytes(400_000))
            transfer.maximumRate = 200_000
            let id = try await queue.submit(transfer)
            _ = try await wait(queue, id) { $0.completedBytes > 50_000 }
            try await queue.pause(id)
            let logins = Mutex(0)
            server.redirect { request in
                guard request.path == "/file" else { return nil }
                return logins.withLock { count in
                    count += 1
                    return count == 1 ? "/login" : nil
                }
            }
            try await queue.resume(id)
            #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
            #expect(folder.bytes(of: "file") == testBytes(400_000))
            #expect(server.requests.map(\.path) == ["/file", "/file", "/login", "/file"])
            #expect(server.requests.last?.headers["range"] != nil)
            await queue.close()
        }
    }

    @Test func `a transfer that can't be resumed starts over`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(400_000), at: "/plain")
            let queue = try await open(folder)
            let id = try await begin(server.url + "/plain", at: 600_000, folder, queue)
            try await queue.pause(id)
            try await queue.resume(id)
            #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
            #expect(folder.bytes(of: "file") == testBytes(400_000))
            #expect(server.requests.count == 2)
            await queue.close()
        }
    }

    @Test func `a job waits for a route, and starts when there is one`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(10), at: "/file")
            let weather = Weather()
            let queue = try await open(folder, surroundings: weather.surroundings(isReachable: false))
            let id = try await queue.submit(.download(server.url + "/file", to: folder.file("file")))
            #expect(try await wait(queue, id) { $0.phase == .waiting }.reason == .network)
            #expect(server.requests.isEmpty)
            weather.connect()
            #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
            await queue.close()
        }
    }

    @Test func `a job that waits after a failure goes on at once when a route comes back`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(10), at: "/file")
            let weather = Weather()
            let queue = try await open(folder, surroundings: weather.surroundings(isReachable: true)) {
                $0.limits.firstRetry = .seconds(3_600)
            }
            var transfer = QueuedTransfer.download(server.url + "/silent", to: folder.file("file"))
            transfer.requestTimeLimit = .milliseconds(50)
            let id = try await queue.submit(transfer)
            #expect(try await wait(queue, id) { $0.phase == .waiting }.reason == .retry)
            weather.disconnect()
            _ = try await wait(queue, id) { $0.reason == .network }
            server.redirect { $0.path == "/silent" ? "/file" : nil }
            weather.connect()
            #expect(try await wait(queue, id) { $0.phase.isFinal }.phase == .completed)
            await queue.close()
        }
    }

    @Test func `a follower is told when it has all jobs, and which were forgotten before it had them`() async throws {
        let folder = try Folder()
        let queue = try await open(folder, surroundings: Weather().surroundings(isReachable: false))
        let runner = try #require(process(of: queue))
        var ids: [QueueJobID] = []
        for name in ["a", "b"] { ids.append(try await queue.submit(.download("http://host/", to: folder.file(name)))) }
        let reader = LocalReader(runner)
        #expect(await reader.nextChange()?.job == ids[0])
        try await queue.cancel(ids[1])
        #expect(try await queue.prune(undelivered: true) == 1)
        guard case .removed(ids[1]) = await reader.nextChange(), case .upToDate = await reader.nextChange() else {
            Issue.record("it isn't told")
            return
        }
        try await queue.cancel(ids[0])
        var change = await reader.nextChange()
        while case .job(let status) = change, !status.phase.isFinal { change = await reader.nextChange() }
        #expect(try await queue.prune(undelivered: true) == 1)
        while case .job = change { change = await reader.nextChange() }
        guard case .removed(ids[0]) = change else {
            Issue.record("it isn't told")
            return
        }
        await queue.close()
        #expect(await reader.nextChange() == nil)
    }

    @Test func `pause, resume and cancel`() async throws {
        let folder = try Folder()
        try await FileServer.run { server in
            server.put(testBytes(600_000), at: "/file")
            let queue = try await open(folder)
            let id = try await begin(server.url + "/file", at: 300_000, folder, queue)
            try await queue.pause(id)
            #expect(try await queue.status(of: id)?.phase == .paused)
            #expect(folder.bytes(of: ".file.squall-part") != nil)
            try await queue.resume(id)
            _ = try await wait(queue, id) { $0.phase == .running && $0.completedBytes > 0 }
            try await queue.cancel(id)
            #expect(try await queue.status(of: id)?.phase == .cancelled)
            #expect(folder.bytes(of: ".file.squall-part") == nil)
            #expect(folder.bytes(of: "file") == nil)
            #expect(await code { try await queue.resume(id) } == .wrongPhase)
            await queue.close()
        }
    }

    /// A server that takes no request without the header.
    private static var guarded: UploadServerHabits {
        var habits = UploadServerHabits()
        habits.refuse = { _, fields in fields[.authorization] == "Bearer sesame" ? nil : 401 }
        return habits
    }

    /// Submits an upload whose header is in memory, and waits until the server has some of it.
    private func beginUpload(
        to url: String,
        _ folder: Folder,
        _ queue: TransferQueue,
        file: String = "up.bin"
    ) async throws -> QueueJobID {
        try folder.write(testBytes(900_000), to: file)
        var transfer = QueuedTransfer.upload(folder.file(file), to: url)
        transfer.timeLimit = .seconds(3_600)
        transfer.headers = [QueueHeader("Authorization", .memory)]
        transfer.maximumRate = 100_000
        let id = try await queue.submit(transfer, secrets: ["Authorization": "Bearer sesame"])
        _ = try await wait(queue, id) { $0.completedBytes > 0 }
        return id
    }

    private func journals(_ folder: Folder) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.file("queue/uploads"))) ?? []
    }

    @Test func `a cancelled upload is removed from its server with the header that is in memory`() async throws {
        let folder = try Folder()
        try await withUploadServer(.dialect(.v10), Self.guarded) { server in
            let queue = try await open(folder)
            let id = try await beginUpload(to: server.url, folder, queue)
            #expect(journals(folder).count == 1)
            try await queue.cancel(id)
            let last = try #require(server.requests.last)
            #expect(last.method == "DELETE" && last.fields[.authorization] == "Bearer sesame", "\(last)")
            #expect(journals(folder).isEmpty)
            await queue.close()
        }
    }

    @Test func `what another job goes on with stays when an upload is cancelled and forgotten`() async throws {
        let folder = try Folder()
        try await withUploadServer(.dialect(.v10), Self.guarded) { server in
            let queue = try await open(folder)
            let first = try await beginUpload(to: server.url, folder, queue)
            try await queue.pause(first)
            let second = try await beginUpload(to: server.url, folder, queue)
            try await queue.pause(second)
            try await queue.cancel(first)
            #expect(try await queue.prune(undelivered: true) == 1)
            #expect(journals(folder).count == 1)
            let bytes = try await queue.status(of: second)?.completedBytes ?? 0
            try await queue.resume(second)
            _ = try await wait(queue, second) { $0.completedBytes > bytes }
            #expect(server.requests.allSatisfy { $0.method != "DELETE" })
            #expect(server.requests.count { $0.path == "/target" } == 1, "it begins once")
            try await queue.cancel(second)
            #expect(server.requests.last?.method == "DELETE" && journals(folder).isEmpty)
            await queue.close()
        }
    }

    /// How a later upload differs from one whose file and URL it has.
    enum Likeness: CaseIterable {
        case same
        case scheme
        case link
        case method
    }

    @Test(arguments: Likeness.allCases)
    func `a part is that of the next upload of its file, also if that never runs`(likeness: Likeness) async throws {
        let folder = try Folder()
        try await withUploadServer(.dialect(.v10), Self.guarded) { server in
            let queue = try await open(folder)
            let first = try await beginUpload(to: server.url, folder, queue)
            var transfer = QueuedTransfer.upload(folder.file("up.bin"), to: server.url)
            switch likeness {
            case .same: break
            case .scheme: transfer.url = "HTTP" + server.url.dropFirst(4)
            case .link:
                transfer.file = folder.file("link")
                try FileManager.default.createSymbolicLink(
                    atPath: transfer.file,
                    withDestinationPath: folder.file("up.bin")
                )
            case .method: transfer.method = "POST"
            }
            transfer.headers = [QueueHeader("Authorization", .memory)]
            transfer.earliestBegin = QueueTime(milliseconds: 4_000_000_000_000)
            let second = try await queue.submit(transfer, secrets: ["Authorization": "Bearer sesame"])
            try await queue.cancel(first)
            #expect(try await queue.prune(undelivered: true) == 1)
            let isLeft = likeness != .method
            func removals() -> [String] { server.requests.filter { $0.method == "DELETE" }.map(\.path) }
            #expect(journals(folder).count == (isLeft ? 1 : 0))
            #expect(removals() == (isLeft ? [] : ["/uploads/1"]))
            try await queue.cancel(second)
            #expect(try await queue.prune(undelivered: true) == 1)
            #expect(journals(folder).isEmpty)
            #expect(removals() == ["/uploads/1"])
            await queue.close()
        }
    }

    @Test(arguments: [Duration.seconds(2), .zero])
    func `failed uploads are removed from a server together, under one limit`(limit: Duration) async throws {
        let folder = try Folder()
        var habits = UploadServerHabits()
        habits.silentMethods = ["DELETE"]
        try await withUploadServer(.dialect(.v10), habits) { server in
            let ahead = Mutex(Duration.zero)
            var surroundings = QueueSurroundings.system(expensive: [], constrained: [])
            let now = surroundings.now
            surroundings.now = { now() + ahead.withLock { $0 } }
            let queue = try await open(folder, surroundings: surroundings)
            let runner = try #require(process(of: queue))
            var ids: [QueueJobID] = []
            for name in ["a", "b", "c"] {
                ids.append(try await beginUpload(to: server.url, folder, queue, file: name))
            }
            ahead.withLock { $0 = .seconds(7_200) }
            // Plans anew.
            try await queue.setPriority(1, of: ids[0])
            for id in ids {
                #expect(try await wait(queue, id) { $0.phase.isFinal }.reason == .timeLimit)
                await runner.ended(id)
            }
            #expect(journals(folder).count == 3)
            #expect(try await runner.prune(undelivered: true, within: limit) == 3)
            #expect(journals(folder).isEmpty)
            #expect(server.requests.count { $0.method == "DELETE" } == (limit > .zero ? 3 : 0))
            await queue.close()
        }
    }

    @Test(arguments: [true, false])
    func `an upload that gets another URL leaves nothing at the old one`(isPaused: Bool) async throws {
        let folder = try Folder()
        try await withUploadServer(.dialect(.v10), Self.guarded) { server in
            let queue = try await open(folder)
            let id = try await beginUpload(to: server.url, folder, queue)
            let old = journals(folder)
            if isPaused { try await queue.pause(id) }
            #expect(journals(folder) == old)
            var change = QueueChange()
            change.url = server.url
            try await queue.resume(id, with: change)
            #expect(server.requests.allSatisfy { $0.method != "DELETE" }, "the URL is the same")
            change.url = server.url + "?signature=2"
            try await queue.resume(id, with: change)
            #expect(journals(folder).allSatisfy { !old.contains($0) })
            let removals = server.requests.filter { $0.method == "DELETE" }
            #expect(removals.map(\.path) == ["/uploads/1"])
            _ = try await wait(queue, id) { $0.completedBytes > 0 }
            try await queue.cancel(id)
            #expect(journals(folder).isEmpty)
            await queue.close()
        }
    }

    @Test func `what another transfer has left stays when a job is cancelled that never ran`() async throws {
        let folder = try Folder()
        let queue = try await open(folder, surroundings: Weather().surroundings(isReachable: false))
        try folder.write([1], to: ".file.squall-part")
        let id = try await queue.submit(.download("http://host/file", to: folder.file("file")))
        #expect(try await wait(queue, id) { $0.phase == .waiting }.reason == .network)
        try await queue.cancel(id)
        #expect(folder.bytes(of: ".file.squall-part") == [1])
        await queue.close()
    }

    @Test func `the partial file of a cancelled job is removed at the next start, if its process ended before`()
        async throws
    {
        let folder = try Folder()
        var queue = try await open(folder, surroundings: Weather().surroundings(isReachable: false))
        let id = try await queue.submit(.download("http://host/file", to: folder.file("file")))
        await queue.close()
        var (log, state) = try QueueLog.open(in: .init(folder.file("queue")), limits: .init(), files: SystemFiles())
        var job = try #require(state.jobs[id])
        (job.stage, job.hasStarted) = (.cancelled, true)
        state.put(job)
        try log.append(.job(job), state)
        log.close()
        for part in [nil, [1] as [UInt8]?] {
            try folder.write([1], to: ".file.squall-part")
            queue = try await open(folder)
            // That of another transfer stays, the second time.
            #expect(folder.bytes(of: ".file.squall-part") == part)
            await queue.close()
        }
    }

    @Test func `jobs are forgotten by one rewrite of the log`() async throws {
        let disk = SimulatedDisk(seed: 1)
        var (log, state) = try QueueLog.open(in: "/", limits: .init(), files: disk)
        for number in 0..<100 {
            let transfer = QueuedTransfer.download("http://host/\(number)", to: "/file\(number)")
            state.put(try state.submitted(transfer, host: "host", at: QueueTime(milliseconds: 0)))
            let id = QueueJobID(UInt64(number) + 1)
            if number > 0 { state.put(try state.cancelled(id)) }
        }
        let transfers = QueueTransfers(uploads: "/", tls: nil, proxies: .none)
        let surroundings = QueueSurroundings.system(expensive: [], constrained: [])
        let runner = QueueRunner(log, state, transfers, surroundings, seed: 1) { _ in }
        #expect(try await runner.prune(undelivered: false) == 0)
        let calls = disk.calls
        #expect(try await runner.prune(undelivered: true) == 99)
        #expect(disk.calls - calls < 20)
        await runner.close()
        (log, state) = try QueueLog.open(in: "/", limits: .init(), files: disk)
        #expect(state.jobs.keys.map(\.number) == [1] && state.next.job == 101)
        log.close()
    }

    @Test func `a POST that may have arrived isn't sent again, unless a failed job is resumed`() async throws {
        let folder = try Folder()
        try folder.write(testBytes(1_000), to: "file")
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        var arrived = arrivals.makeAsyncIterator()
        try await FileServer.run { server in
            server.refuse { _ in
                arrival.yield()
                return nil
            }
            var queue = try await open(folder)
            var transfer = QueuedTransfer.upload(folder.file("file"), to: server.url + "/silent")
            transfer.method = "POST"
            let id = try await queue.submit(transfer)
            await arrived.next()
            await queue.close()
            // A run that fails before it asks doesn't know more.
            try FileManager.default.removeItem(atPath: folder.file("file"))
            queue = try await open(folder)
            #expect(try await wait(queue, id) { $0.phase == .waiting }.reason == .folder)
            try folder.write(testBytes(1_000), to: "file")
            try await queue.resume(id)
            let failed = try await wait(queue, id) { $0.phase.isFinal }
            #expect(failed.phase == .failed && failed.reason == .refused)
            #expect(failed.message?.contains("sending a POST again may do it twice") == true)
            try await queue.resume(id)
            await arrived.next()
            try await queue.pause(id)
            try await queue.resume(id)
            #expect(try await wait(queue, id) { $0.phase.isFinal }.reason == .refused)
            #expect(server.requests.count == 2)
            await queue.close()
        }
    }

    @Test func `a job whose end can't be written waits for the disk, and says so`() async throws {
        let folder = try Folder()
        let disk = SimulatedDisk(seed: 1)
        let (log, state) = try QueueLog.open(in: "/", limits: .init(), files: disk)
        let transfers = QueueTransfers(uploads: "/", tls: nil, proxies: .none)
        let surroundings = QueueSurroundings.system(expensive: [], constrained: [])
        let runner = QueueRunner(log, state, transfers, surroundings, seed: 1) { _ in }
        let statuses = QueueUpdates(host: .process(runner)).makeAsyncIterator()
        func status(_ isRight: (QueueJobStatus) -> Bool) async throws -> QueueJobStatus? {
            while let status = try await statuses.next() {
                if isRight(status) { return status }
            }
            return nil
        }
        func isUnwritten(_ status: QueueJobStatus) -> Bool {
            status.phase == .waiting && status.message?.contains("the queue's log can't be written: ") == true
        }
        try await FileServer.run { server in
            let transfer = QueuedTransfer.download(server.url + "/file", to: folder.file("file"))
            let job = try state.submitted(transfer, host: "127.0.0.1", at: surroundings.now())
            try await runner.perform { (work) throws(TransferQueueError) in
                try runner.write(job, &work)
                disk.setFaults(SimulatedDisk.Faults(chance: 1))
                runner.replan(&work)
            }
            #expect(try await status(isUnwritten)?.id == job.id)
            #expect(server.requests.isEmpty, "a job whose start isn't in the log doesn't start")
            server.refuse { _ in
                disk.setFaults(SimulatedDisk.Faults(chance: 1))
                return 404
            }
            disk.setFaults(SimulatedDisk.Faults())
            runner.post { runner.replan(&$0) }
            #expect(try await status { $0.phase == .running }?.id == job.id)
            #expect(try await status(isUnwritten)?.id == job.id)
            disk.setFaults(SimulatedDisk.Faults())
            runner.post { runner.replan(&$0) }
            #expect(try await status { $0.phase.isFinal }?.reason == .refused)
            #expect(server.requests.count == 1)
        }
        await runner.close()
    }

    @Test func `a job that gets another URL doesn't end as a run with the old one`() async throws {
        let folder = try Folder()
        let disk = SimulatedDisk(seed: 1)
        try disk.makeFolders(FilePath(folder.file("queue")))
        try await FileServer.run { server in
            server.put(testBytes(10), at: "/good")
            server.refuse { request in
                guard request.path == "/bad" else { return nil }
                disk.setFaults(SimulatedDisk.Faults(chance: 1))
                return 403
            }
            let queue = try await open(folder, files: disk)
            let id = try await queue.submit(.download(server.url + "/bad", to: folder.file("file")))
            _ = try await wait(queue, id) { $0.message?.contains("the queue's log can't be written") == true }
            disk.setFaults(SimulatedDisk.Faults())
            var change = QueueChange()
            change.url = server.url + "/good"
            try await queue.resume(id, with: change)
            let status = try await wait(queue, id) { $0.phase.isFinal || $0.phase == .waiting }
            #expect(status.phase == .completed, "\(status)")
            await queue.close()
        }
    }

    @Test func `a command is run for the end of a job, with what it needs to know and without sockets`() async throws {
        let folder = try Folder()
        let lines = Lines()
        try await FileServer.run { server in
            server.put(testBytes(10), at: "/file")
            let queue = try await open(folder) { $0.log = lines.tell }
            var transfer = QueuedTransfer.download(server.url + "/file", to: folder.file("file"))
            transfer.command = [
                "/bin/sh", "-c",
                "cd '\(folder.path)'; echo $SQUALL_JOB $SQUALL_PHASE $SQUALL_FILE >> told; exec > open; exec ls /proc/self/fd",
            ]
            let id = try await queue.submit(transfer)
            await lines.wait(for: "its command exited with 0")
            let told = try #require(folder.bytes(of: "told"))
            #expect(String(decoding: told, as: UTF8.self) == "\(id) completed \(folder.file("file"))\n")
            // The last one is that of the folder that ls reads.
            #expect(String(decoding: folder.bytes(of: "open") ?? [], as: UTF8.self) == "0\n1\n2\n3\n")
            await queue.close()
            let (log, state) = try QueueLog.open(in: .init(folder.file("queue")), limits: .init(), files: SystemFiles())
            #expect(state.jobs[id]?.commandOwed == nil)
            log.close()
        }
    }

    @Test func `a queue that is closed waits for a command, which doesn't run again`() async throws {
        let folder = try Folder()
        try #require(mkfifo(folder.file("started"), 0o600) == 0)
        try await FileServer.run { server in
            server.put(testBytes(10), at: "/file")
            var queue = try await open(folder)
            var transfer = QueuedTransfer.download(server.url + "/file", to: folder.file("file"))
            transfer.command = [
                "/bin/sh", "-c", "cd '\(folder.file(""))'; : > started; sleep 0.3; echo $SQUALL_EVENT >> told",
            ]
            let id = try await queue.submit(transfer)
            // Until it runs.
            let fifo = folder.file("started")
            await Task.detached { _ = Glibc.close(Glibc.open(fifo, O_RDONLY)) }.value
            await queue.close()
            #expect(folder.bytes(of: "told")?.count { $0 == 10 } == 1)
            queue = try await open(folder)
            #expect(try await queue.status(of: id)?.phase == .completed)
            await queue.close()
            #expect(folder.bytes(of: "told")?.count { $0 == 10 } == 1)
        }
    }

    @Test func `one queue at a time has an identifier`() async throws {
        let folder = try Folder()
        let queue = try await open(folder)
        #expect(await code { _ = try await open(folder) } == .locked)
        await queue.close()
        await (try open(folder)).close()
    }

    @Test(arguments: ["", ".hidden", "a/b", "ä", String(repeating: "x", count: 65)])
    func `an identifier that is none is refused`(identifier: String) async throws {
        let refused = await code {
            _ = try await TransferQueue(identifier: identifier, configuration: .init(), tls: nil, proxies: .none)
        }
        #expect(refused == .invalid)
    }

    @Test func `a transfer that can't be is refused, and says why`() async throws {
        let folder = try Folder()
        let queue = try await open(folder)
        let changes: [(String, (inout QueuedTransfer) -> Void)] = [
            ("file", { $0.file = "relative" }), ("url", { $0.url = "ftp://host/file" }),
            ("it is a directory", { $0.file = folder.path }), ("a device", { $0.file = "/dev/null" }),
            ("too long", { $0.file = "/tmp/" + String(repeating: "x", count: 300) }),
            ("no regular file", { $0 = .upload(folder.path, to: $0.url) }), ("priority", { $0.priority = 101 }),
            ("sha256", { $0.sha256 = [1] }), ("time limit", { $0.timeLimit = .zero }), ("rate", { $0.maximumRate = 0 }),
            ("failures", { $0.maximumFailures = 0 }), ("command", { $0.command = [""] }),
            ("header", { $0.headers = [QueueHeader("Authorization", .plain("Bearer secret"))] }),
            ("header", { $0.headers = [QueueHeader("Range", .plain("bytes=1-"))] }),
            ("48 KiB", { $0.command = ["x", String(repeating: "y", count: 50_000)] }),
        ]
        for (sign, change) in changes {
            var transfer = QueuedTransfer.download("http://host/file", to: "/tmp/file")
            change(&transfer)
            do {
                _ = try await queue.submit(transfer)
                Issue.record("\(sign) was taken")
            } catch let error as TransferQueueError {
                #expect(error.code == .invalid)
                #expect(error.message.contains(sign))
                #expect(!error.message.contains("Bearer"))
            }
        }
        var transfer = QueuedTransfer.download("http://host/file", to: "/tmp/file")
        transfer.headers = [QueueHeader("Authorization", .memory)]
        #expect(await code { _ = try await queue.submit(transfer, secrets: ["Authorization": "a\nb"]) } == .invalid)
        transfer.headers.append(QueueHeader("authorization", .memory))
        #expect(await code { _ = try await queue.submit(transfer, secrets: ["Authorization": "a"]) } == .invalid)
        #expect(try await queue.statuses().isEmpty)
        await queue.close()
    }
}

/// A network that a test takes away and brings back.
private final class Weather: Sendable {
    private let isConnected = Mutex(false)
    private let (changes, continuation) = AsyncStream<Void>.makeStream()

    func surroundings(isReachable: Bool) -> QueueSurroundings {
        isConnected.withLock { $0 = isReachable }
        var surroundings = QueueSurroundings.system(expensive: [], constrained: [])
        surroundings.isReachable = { [self] _ in isConnected.withLock { $0 } }
        surroundings.networkChanges = { [self] in changes }
        return surroundings
    }

    func connect() { set(isConnected: true) }
    func disconnect() { set(isConnected: false) }

    private func set(isConnected: Bool) {
        self.isConnected.withLock { $0 = isConnected }
        continuation.yield()
    }
}
