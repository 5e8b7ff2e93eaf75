/// Where a queue runs.
enum QueueHost: Sendable {
    case process(QueueRunner)
    case daemon(QueueSocket)
}

/// The statuses of a queue's jobs: first the current one of each, then each that changes.
public struct QueueUpdates: AsyncSequence, Sendable {
    /// The type of the statuses.
    public typealias Element = QueueJobStatus
    let host: QueueHost

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator { Iterator(host) }

    /// Yields statuses.
    public final class Iterator: AsyncIteratorProtocol {
        private let read: () async throws -> QueueJobStatus?

        init(_ host: QueueHost) {
            switch host {
            case .process(let runner): read = LocalReader(runner).nextStatus
            case .daemon(let socket): read = DaemonUpdates(socket).next
            }
        }

        /// The next status; `nil` when the queue is closed, and when the task is cancelled.
        ///
        /// - Throws: A `TransferQueueError` with the code `.daemon` if the daemon of the queue has ended.
        public func next() async throws -> QueueJobStatus? { try await read() }
    }
}

/// The events of a queue's jobs, first those that were kept.
public struct QueueEvents: AsyncSequence, Sendable {
    /// What a reader of events gets.
    public enum Element: Hashable, Sendable {
        /// An event. It is delivered when the next element is asked for.
        case event(QueueEvent)
        /// All events that were kept have been delivered. Comes once.
        case allDelivered
    }

    let host: QueueHost

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator { Iterator(host) }

    /// Yields events.
    public final class Iterator: AsyncIteratorProtocol {
        private let read: () async throws -> Element?

        init(_ host: QueueHost) {
            switch host {
            case .process(let runner): read = LocalEvents(runner).next
            case .daemon(let socket): read = DaemonEvents(socket).next
            }
        }

        /// The next element; `nil` when the queue is closed, and when the task is cancelled.
        ///
        /// - Throws: A `TransferQueueError` if the log can't be written, or if the daemon of the queue has ended; the last
        ///   event is kept then.
        public func next() async throws -> Element? { try await read() }
    }
}

/// The events of a queue of this process.
private final class LocalEvents {
    private let local: LocalReader
    private var last: QueueEvent?
    private var wasTold = false

    init(_ runner: QueueRunner) { local = LocalReader(runner) }

    func next() async throws -> QueueEvents.Element? {
        do throws(TransferQueueError) {
            return try await element()
        } catch {
            guard error.code == .closed else { throw error }
            return nil
        }
    }

    private func element() async throws(TransferQueueError) -> QueueEvents.Element? {
        if let last { try await local.runner.deliver(last) }
        await local.begin()
        while !Task.isCancelled {
            if let event = try await local.runner.event(after: last?.number ?? 0) {
                last = event
                return .event(event)
            }
            if !wasTold {
                wasTold = true
                return .allDelivered
            }
            guard await local.next() != nil else { return nil }
        }
        return nil
    }
}

/// A reader of a queue of this process, which begins with the first change that it is asked for.
final class LocalReader {
    let runner: QueueRunner
    /// The reader, and how many jobs of the beginning it hasn't told; `nil` after `upToDate`.
    private var reading: (number: Int, reader: QueueReader, untold: Int?)?

    init(_ runner: QueueRunner) { self.runner = runner }

    deinit {
        if let reading { runner.removeReader(reading.number) }
    }

    func begin() async {
        if reading == nil { reading = try? await runner.addReader() }
    }

    /// The next changed job; `nil` when the queue is closed, and when the task is cancelled.
    func next() async -> QueueJobID? {
        await begin()
        return await reading?.reader.next()
    }

    /// The status of the next changed job that is still there; `nil` as `next`.
    func nextStatus() async throws -> QueueJobStatus? {
        while let change = await nextChange() {
            if case .job(let status) = change { return status }
        }
        return nil
    }

    /// The next change: `job`, or `removed` for one that was forgotten, and `upToDate` after those of the beginning; `nil` as
    /// `next`.
    func nextChange() async -> QueueAnswer? {
        await begin()
        if reading?.untold == 0 {
            reading?.untold = nil
            return .upToDate
        }
        guard let id = await next() else { return nil }
        reading?.untold? -= 1
        do throws(TransferQueueError) {
            return try await runner.status(id).map { .job($0) } ?? .removed(id)
        } catch {
            return nil
        }
    }
}
