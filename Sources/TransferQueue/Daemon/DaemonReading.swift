internal import Synchronization

/// The statuses that a daemon sends, the newest one of each job until it is read.
final class DaemonUpdates {
    private final class Inbox: Sendable {
        let reader = QueueReader([])
        let state = Mutex((unread: [QueueJobID: QueueJobStatus](), failure: (any Error)?.none))
    }

    private let inbox: Inbox
    private let task: Task<Void, Never>

    init(_ socket: QueueSocket) {
        let inbox = Inbox()
        self.inbox = inbox
        task = Task {
            do {
                try await socket.call(.attach(nil)) { answer, _ in
                    guard case .job(let status) = answer else { return true }
                    inbox.state.withLock { $0.unread[status.id] = status }
                    inbox.reader.note(status.id)
                    return true
                }
            } catch {
                inbox.state.withLock { $0.failure = error }
            }
            inbox.reader.finish()
        }
    }

    deinit { task.cancel() }

    func next() async throws -> QueueJobStatus? {
        while let id = await inbox.reader.next() {
            if let status = inbox.state.withLock({ $0.unread.removeValue(forKey: id) }) { return status }
        }
        if !Task.isCancelled, let failure = inbox.state.withLock({ $0.failure }) { throw failure }
        return nil
    }
}

/// The events that a daemon sends: one, and a further one when the next is asked for.
final class DaemonEvents {
    private var elements: AsyncThrowingStream<QueueEvents.Element, any Error>.AsyncIterator
    private let asks: AsyncStream<Void>.Continuation
    private let task: Task<Void, Never>
    private var isFirst = true

    init(_ socket: QueueSocket) {
        // Neither holds more than one.
        let (elements, told) = AsyncThrowingStream<QueueEvents.Element, any Error>.makeStream()
        let (asked, asks) = AsyncStream<Void>.makeStream()
        self.elements = elements.makeAsyncIterator()
        self.asks = asks
        task = Task {
            do {
                var asked = asked.makeAsyncIterator()
                try await socket.call(.events) { answer, writer in
                    switch answer {
                    case .event(let event): told.yield(.event(event))
                    case .allDelivered: told.yield(.allDelivered)
                    case .submitted, .job, .removed, .upToDate, .pruned, .done, .failed: return true
                    }
                    guard await asked.next() != nil else { return false }
                    try await writer.send(line: "next")
                    return true
                }
                told.finish()
            } catch {
                told.finish(throwing: error)
            }
        }
    }

    deinit { task.cancel() }

    func next() async throws -> QueueEvents.Element? {
        if !isFirst { asks.yield() }
        isFirst = false
        return try await elements.next()
    }
}
