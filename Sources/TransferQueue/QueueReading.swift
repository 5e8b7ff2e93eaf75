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
        private enum Source {
            case process(LocalReader)
            case daemon(DaemonUpdates)
        }

        private let source: Source

        init(_ host: QueueHost) {
            source =
                switch host {
                case .process(let runner): .process(LocalReader(runner))
                case .daemon(let socket): .daemon(DaemonUpdates(socket))
                }
        }

        /// The next status; `nil` when the queue is closed, and when the task is cancelled.
        ///
        /// - Throws: A `TransferQueueError` with the code `.daemon` if the daemon of the queue has ended.
        public func next() async throws -> QueueJobStatus? {
            switch source {
            case .daemon(let updates): return try await updates.next()
            case .process(let local):
                while let id = await local.next() {
                    if let status = try? await local.runner.status(id) { return status }
                }
                return nil
            }
        }
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
        private enum Source {
            case process(LocalReader)
            case daemon(DaemonEvents)
        }

        private let source: Source
        private var last: QueueEvent?
        private var wasTold = false

        init(_ host: QueueHost) {
            source =
                switch host {
                case .process(let runner): .process(LocalReader(runner))
                case .daemon(let socket): .daemon(DaemonEvents(socket))
                }
        }

        /// The next element; `nil` when the queue is closed, and when the task is cancelled.
        ///
        /// - Throws: A `TransferQueueError` if the log can't be written, or if the daemon of the queue has ended; the last
        ///   event is kept then.
        public func next() async throws -> Element? {
            switch source {
            case .daemon(let events): try await events.next()
            case .process(let local): try await next(local)
            }
        }

        private func next(_ local: LocalReader) async throws -> Element? {
            if let last {
                do throws(TransferQueueError) {
                    try await local.runner.deliver(last)
                } catch {
                    guard error.code == .closed else { throw error }
                    return nil
                }
            }
            await local.begin()
            while !Task.isCancelled {
                if let event = try? await local.runner.event(after: last?.number ?? 0) {
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
}

/// A reader of a queue of this process, which begins with the first change that it is asked for.
private final class LocalReader {
    let runner: QueueRunner
    private var reading: (number: Int, reader: QueueReader)?

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
}
