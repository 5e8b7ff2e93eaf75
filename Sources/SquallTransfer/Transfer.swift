/// A download under way.
public typealias DownloadTransfer = Transfer<DownloadResult>
/// An upload under way.
public typealias UploadTransfer = Transfer<UploadResult>

/// A transfer under way: a value to hold, to watch, to wait for, to pause.
///
/// It runs from the moment that the session returns it, and goes on when nobody holds the value. As a sequence it gives the
/// newest status whenever there is one, the last one always, and then throws the error that ended it, if one did. Any number
/// of tasks may read it, each at its own speed.
public struct Transfer<Result: Sendable>: AsyncSequence, Sendable {
    /// What it gives.
    public typealias Element = TransferStatus
    /// What it throws: a `TransferError`, always.
    public typealias Failure = any Error

    private let task: Task<Swift.Result<Result, TransferError>, Never>
    private let feed: StatusFeed

    init(_ feed: StatusFeed, _ body: @escaping @Sendable (StatusFeed) async throws(TransferError) -> Result) {
        self.feed = feed
        task = Task {
            do throws(TransferError) {
                let result = try await body(feed)
                feed.update { $0.phase = .finished }
                return .success(result)
            } catch {
                feed.update(failure: error) { $0.phase = error.code == .cancelled ? .cancelled : .failed }
                return .failure(error)
            }
        }
    }

    /// What the transfer brought, once it has come to its end. A task that is cancelled while it waits cancels the transfer.
    ///
    /// - Throws: Why it didn't; `isResumable` tells whether the same transfer can go on.
    public var value: Result {
        get async throws {
            try await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }.get()
        }
    }

    /// The newest status.
    public var status: TransferStatus { feed.status }

    /// Cancels the transfer. The transferred bytes are kept, and `value` throws `.cancelled` with a token; an ephemeral session
    /// keeps neither.
    public func cancel() { task.cancel() }

    /// Ends the transfer, and waits until all that was transferred is safe on the disk.
    ///
    /// - Returns: What continues it; `nil` when it had come to its end before, or can't be continued.
    public func pause() async -> ResumptionToken? {
        task.cancel()
        guard case .failure(let error) = await task.value else { return nil }
        return error.token
    }

    /// Reads the statuses.
    public func makeAsyncIterator() -> Iterator { Iterator(feed: feed) }

    /// Gives the newest status whenever there is one that it hasn't given.
    public struct Iterator: AsyncIteratorProtocol {
        let feed: StatusFeed
        private var seen = 0

        init(feed: StatusFeed) {
            self.feed = feed
        }

        /// The newest status that wasn't given; `nil` behind the last one, and when the task that asks is cancelled.
        ///
        /// - Throws: Why the transfer failed, behind the last status.
        public mutating func next() async throws -> TransferStatus? {
            try await feed.next(after: &seen)
        }

    }
}
