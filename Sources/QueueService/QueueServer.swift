import FoundationEssentials
import Glibc
import NIOCore
import NIOPosix
import Synchronization
import TransferClient
import TransferQueue
import Units

/// The daemon: a queue behind a socket of its owner.
final class QueueServer: Sendable {
    private let queue: TransferQueue
    private let log: BoundedLog
    /// The open connections, and how many there have been.
    private let clients = Mutex((open: 0, count: 0))

    /// The connections at a time: 64.
    private static let maximumClients = 64

    init(_ queue: TransferQueue, _ log: BoundedLog) {
        self.queue = queue
        self.log = log
    }

    /// Serves a socket until the task is cancelled. The caller has the queue, so a file at the path is of a daemon that was
    /// killed.
    ///
    /// - Parameter ready: Called when clients can connect.
    func run(_ path: String, ready: () -> Void) async throws {
        if (try? FileManager.default.removeItem(atPath: path)) != nil {
            log.write("removed the socket of a daemon that has ended without it")
        }
        // Connections are plain channels until their tasks wrap them: the end of this task drops accepted ones, and an
        // `NIOAsyncChannel` traps when it is dropped unused. Nothing is read before.
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: false)
            .bind(unixDomainSocketPath: path) { $0.eventLoop.makeSucceededFuture($0) }
        // The folder lets in its owner only, from before.
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        ready()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await withThrowingDiscardingTaskGroup { tasks in
            try await server.executeThenClose { connections in
                for try await connection in connections {
                    tasks.addTask { [self] in await serve(connection) }
                }
            }
            tasks.cancelAll()
        }
    }

    /// Returns when nothing has been to do for `time`, looking twice in it.
    func waitUntilIdle(for time: Duration) async {
        var earlier: Int?
        while (try? await Pause.sleep(for: time / 2)) != nil {
            let (open, count) = clients.withLock { $0 }
            // A client may come while the queue looks.
            guard open == 0, await queue.isIdle, clients.withLock({ $0.count }) == count else {
                earlier = nil
                continue
            }
            if earlier == count { return }
            earlier = count
        }
    }

    private func serve(_ channel: any Channel) async {
        let isWelcome = clients.withLock { clients in
            clients.open += 1
            clients.count += 1
            return clients.open <= Self.maximumClients
        }
        defer { clients.withLock { $0.open -= 1 } }
        let connection = try? await channel.eventLoop.flatSubmit { QueueChannel.make(channel) }.get()
        try? await connection?.executeThenClose { inbound, _ in
            let user = try await QueueChannel.user(of: channel)
            guard user == geteuid() || user == 0 else { return log.write("refused a client of user \(user)") }
            try await channel.setOption(.autoRead, value: true).get()
            var channel = QueueChannel(inbound, channel)
            try await channel.writer.send(line: QueueProtocol.greeting)
            do {
                guard isWelcome else {
                    throw TransferQueueError(
                        .daemon,
                        "the queue's daemon has \(Self.maximumClients) clients, the most that it takes: end some of them"
                    )
                }
                guard try await channel.line() == QueueProtocol.greeting,
                    let call = try await channel.value(QueueCall.self)
                else { throw QueueChannel.Unreadable() }
                try await answer(call, &channel)
                try await channel.writer.send(QueueAnswer.done)
            } catch let error as TransferQueueError {
                try await channel.writer.send(QueueAnswer.failed(code: error.code.rawValue, message: error.message))
            } catch is QueueChannel.Unreadable {
                let message = "the queue's daemon can't read this call: end it, if it is of another version"
                try await channel.writer.send(QueueAnswer.failed(code: "daemon", message: message))
            }
        }
    }

    private func answer(_ call: QueueCall, _ channel: inout QueueChannel) async throws {
        switch call {
        case .submit(let transfer, let secrets):
            let id = try await queue.submit(transfer, secrets: secrets)
            try await channel.writer.send(QueueAnswer.submitted(id))
        case .status(let id?): try await channel.writer.send(QueueAnswer.job(try await status(of: id)))
        case .status(nil):
            for status in try await queue.statuses() { try await channel.writer.send(QueueAnswer.job(status)) }
        case .attach(let id): try await follow(id, &channel)
        case .pause(let id): try await queue.pause(id)
        case .resume(let id, let change, let secrets): try await queue.resume(id, with: change, secrets: secrets)
        case .cancel(let id): try await queue.cancel(id)
        case .prioritize(let id, let priority): try await queue.setPriority(priority, of: id)
        case .events: try await tellEvents(&channel)
        case .prune(let undelivered):
            try await channel.writer.send(QueueAnswer.pruned(try await queue.prune(undelivered: undelivered)))
        }
    }

    private func status(of id: QueueJobID) async throws -> QueueJobStatus {
        guard let status = try await queue.status(of: id) else {
            throw TransferQueueError(.noJob, "there is no job \(id)")
        }
        return status
    }

    /// Sends what changes until the client goes away.
    private func follow(_ id: QueueJobID?, _ channel: inout QueueChannel) async throws {
        let writer = channel.writer
        let queue = queue
        let task = Task { try await queue.follow(id) { try await writer.send($0) } }
        defer { task.cancel() }
        while try await channel.line() != nil {}
    }

    /// Sends an event, and another one for each line of the client, until the client goes away.
    private func tellEvents(_ channel: inout QueueChannel) async throws {
        let writer = channel.writer
        let queue = queue
        let (asked, asks) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            var asked = asked.makeAsyncIterator()
            let events = queue.events().makeAsyncIterator()
            do {
                while let element = try await events.next() {
                    switch element {
                    case .event(let event): try await writer.send(QueueAnswer.event(event))
                    case .allDelivered: try await writer.send(QueueAnswer.allDelivered)
                    }
                    guard await asked.next() != nil else { return }
                }
            } catch let error as TransferQueueError {
                try await writer.send(QueueAnswer.failed(code: error.code.rawValue, message: error.message))
            }
        }
        defer { task.cancel() }
        while try await channel.line() != nil { asks.yield() }
    }
}
