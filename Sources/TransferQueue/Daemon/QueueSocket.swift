internal import NIOCore
internal import NIOPosix
internal import OperatingSystem
internal import SystemPackage
internal import Units

/// The socket of a queue's daemon, for its clients.
package struct QueueSocket: Sendable {
    package let path: String

    /// The longest path of a socket, see unix(7).
    private static let maximumPath = 107

    /// Makes the socket of the daemon whose queue has a folder.
    ///
    /// - Throws: A `TransferQueueError` with the code `.invalid` for a folder whose path is too long.
    package init(folder: String) throws(TransferQueueError) {
        path = folder + "/queue.sock"
        guard path.utf8.count <= Self.maximumPath else {
            throw TransferQueueError(
                .invalid,
                "the path of the queue's socket, “\(path)”, is longer than \(Self.maximumPath) bytes: set XDG_STATE_HOME to "
                    + "a shorter one"
            )
        }
    }

    /// Connects; `nil` if no daemon listens.
    package func connect() async throws -> QueueChannel.Channel? {
        do {
            return try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(unixDomainSocketPath: path) { QueueChannel.make($0) }
        } catch let error as IOError {
            let errno = Errno(rawValue: error.errnoCode)
            if [.noSuchFileOrDirectory, .connectionRefused].contains(errno) { return nil }
            throw TransferQueueError(.daemon, "can't reach the queue's daemon at “\(path)”: \(errno) (connect)")
        }
    }

    /// The longest wait for the first line of a daemon: 10 s.
    package static let greetingLimit = Duration.seconds(10)

    /// The daemon ended before it got a call, which can be repeated.
    package struct Unasked: Error {}

    /// Makes a call on a connection of its own, and hands its answers but the last to `receive` until that returns `false`.
    ///
    /// - Throws: A `TransferQueueError`, `Unasked`, or the error of `receive`.
    package func call(
        _ call: QueueCall,
        on connection: QueueChannel.Channel,
        greetedWithin limit: Duration = greetingLimit,
        _ receive: (QueueAnswer, QueueChannel.Writer) async throws -> Bool
    ) async throws {
        var isSent = false
        // Who listens needn't be a daemon: a process may have inherited the socket of one that was killed.
        let (socket, latest) = (connection.channel, MonotonicClock.now + limit)
        let timer = socket.eventLoop.scheduleTask(in: .nanoseconds(limit.nanoseconds)) { socket.close(promise: nil) }
        defer { timer.cancel() }
        do {
            try await connection.executeThenClose { inbound, _ in
                var channel = QueueChannel(inbound, connection.channel)
                guard let greeting = try await channel.line() else {
                    guard MonotonicClock.now >= latest else { throw Unasked() }
                    throw TransferQueueError(
                        .daemon,
                        "the process that listens at “\(path)” hasn't answered for \(NearestText.time(limit)): "
                            + "“ss -xlp” names it; end it, or continue it if it is stopped"
                    )
                }
                timer.cancel()
                guard greeting == QueueProtocol.greeting else {
                    throw TransferQueueError(
                        .daemon,
                        "the queue's daemon doesn't answer as this version does: end it, and it is started anew"
                    )
                }
                try await channel.writer.send(line: QueueProtocol.greeting)
                try await channel.writer.send(call)
                isSent = true
                while let answer = try await channel.value(QueueAnswer.self) {
                    switch answer {
                    case .done: return
                    case .failed(let code, let message): throw TransferQueueError(.init(rawValue: code), message)
                    case .submitted, .job, .removed, .upToDate, .event, .allDelivered, .pruned:
                        guard try await receive(answer, channel.writer) else { return }
                    }
                }
                throw TransferQueueError(.daemon, "the queue's daemon has ended: see “squall queue logs”")
            }
        } catch is QueueChannel.Unreadable {
            throw TransferQueueError(.daemon, "the queue's daemon sent what this version can't read")
        } catch let error where !isSent && (error is IOError || error is ChannelError) {
            throw Unasked()
        } catch let error as IOError {
            throw TransferQueueError(.daemon, "lost the queue's daemon: \(Errno(rawValue: error.errnoCode))")
        } catch let error as ChannelError {
            throw TransferQueueError(.daemon, "lost the queue's daemon: \(error)")
        }
    }

    // MARK: Calls of the library

    /// Makes a call to the daemon that runs.
    func call(_ call: QueueCall, _ receive: (QueueAnswer, QueueChannel.Writer) async throws -> Bool) async throws {
        guard let connection = try await connect() else {
            throw TransferQueueError(
                .daemon,
                "no daemon of a queue listens at “\(path)”: start it by “squall queue serve” or “squall queue enable”"
            )
        }
        do {
            try await self.call(call, on: connection, receive)
        } catch is Unasked {
            throw TransferQueueError(
                .daemon,
                "the queue's daemon ends, or refuses this client: see “squall queue logs”"
            )
        }
    }

    /// Makes a call, and returns its answers but the last.
    @discardableResult func values(of call: QueueCall) async throws -> [QueueAnswer] {
        var values: [QueueAnswer] = []
        try await self.call(call) { answer, _ in
            values.append(answer)
            return true
        }
        return values
    }

    /// Throws if no daemon listens.
    func check() async throws { _ = try await statuses(.status(nil)) }

    func submit(_ transfer: QueuedTransfer, _ secrets: [String: String]) async throws -> QueueJobID {
        for case .submitted(let id) in try await values(of: .submit(transfer, secrets: secrets)) { return id }
        throw TransferQueueError(.daemon, "the queue's daemon gave no number")
    }

    func statuses(_ call: QueueCall) async throws -> [QueueJobStatus] {
        try await values(of: call).compactMap { if case .job(let status) = $0 { status } else { nil } }
    }

    func status(of id: QueueJobID) async throws -> QueueJobStatus? {
        do {
            return try await statuses(.status(id)).first
        } catch let error as TransferQueueError where error.code == .noJob {
            return nil
        }
    }

    func prune(undelivered: Bool) async throws -> Int {
        for case .pruned(let count) in try await values(of: .prune(undelivered: undelivered)) { return count }
        throw TransferQueueError(.daemon, "the queue's daemon gave no number")
    }
}
