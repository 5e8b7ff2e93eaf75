/// A running download.
public typealias DownloadTransfer = Transfer<DownloadResult>
/// A running upload.
public typealias UploadTransfer = Transfer<UploadResult>

/// A running transfer: await its result, observe its status, pause or cancel it.
///
/// It starts when the session returns it, and continues even if the value is dropped. As a sequence it yields the
/// latest status, always including the last one, and then throws the error that ended it, if any. Any number of tasks
/// may iterate over it, each at its own speed.
public struct Transfer<Result: Sendable>: AsyncSequence, Sendable {
    /// The type of the statuses.
    public typealias Element = TransferStatus
    /// The error type: always a `TransferError`.
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

    /// The result of the transfer, once it has finished. Cancelling a task that awaits it cancels the transfer.
    ///
    /// - Throws: The reason of the failure; `isResumable` tells whether the transfer can be resumed.
    public var value: Result {
        get async throws {
            try await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }.get()
        }
    }

    /// The latest status.
    public var status: TransferStatus { feed.status }

    /// Cancels the transfer. Received bytes are kept, and `value` throws `.cancelled` with a token; an ephemeral
    /// session keeps neither.
    public func cancel() { task.cancel() }

    /// Stops the transfer, and waits until everything transferred is durable.
    ///
    /// - Returns: a token that resumes it; `nil` when it had already ended, or can't be resumed.
    public func pause() async -> ResumptionToken? {
        task.cancel()
        guard case .failure(let error) = await task.value else { return nil }
        return error.token
    }

    /// Iterates over the statuses.
    public func makeAsyncIterator() -> Iterator { Iterator(feed: feed) }

    /// Yields the latest status that it hasn't yielded yet.
    public struct Iterator: AsyncIteratorProtocol {
        let feed: StatusFeed
        private var seen = 0

        init(feed: StatusFeed) {
            self.feed = feed
        }

        /// The latest unread status; `nil` after the last one, and when the task is cancelled.
        ///
        /// - Throws: The transfer's error, after the last status.
        public mutating func next() async throws -> TransferStatus? {
            try await feed.next(after: &seen)
        }

    }
}
