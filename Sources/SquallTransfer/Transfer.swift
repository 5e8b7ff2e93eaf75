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

    private let task: Task<Swift.Result<Result, TransferError>, Never>
    private let feed: StatusFeed
    private let removeState: @Sendable () async throws(TransferError) -> Void

    init(
        _ feed: StatusFeed,
        discard: @escaping @Sendable () async throws(TransferError) -> Void,
        body: @escaping @Sendable (StatusFeed) async throws(TransferError) -> Result
    ) {
        (self.feed, removeState) = (feed, discard)
        task = Task {
            do throws(TransferError) {
                let result = try await body(feed)
                feed.update { $0.phase = .finished }
                return .success(result)
            } catch {
                feed.update(failure: error) { $0.phase = error.code == .cancelled ? feed.cancelledPhase : .failed }
                return .failure(error)
            }
        }
    }

    /// The result of the transfer, once it has finished. Cancelling a task that awaits it cancels the transfer.
    ///
    /// - Throws: The reason of the failure; `isResumable` tells whether the transfer can be resumed.
    public var value: Result {
        get async throws { try await result.get() }
    }

    /// The same, as a value.
    package var result: Swift.Result<Result, TransferError> {
        get async {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// The latest status.
    public var status: TransferStatus { feed.status }

    /// Cancels the transfer, without waiting. Received bytes are kept, and `value` throws `.cancelled` with a token; an
    /// ephemeral session keeps neither.
    public func cancel() { task.cancel() }

    /// Cancels the transfer if it runs, waits for its end, and removes what it keeps: the partial file of a download and its
    /// journal, or an unfinished upload at the server, which is asked once, and its journal. A finished file stays, and so
    /// does what another transfer had locked.
    ///
    /// - Throws: A `TransferError` when a file can't be removed.
    public func discard() async throws {
        task.cancel()
        guard case .failure(let error) = await task.value, error.code != .locked else { return }
        try await removeState()
    }

    /// Pauses the transfer, and waits until everything transferred is durable.
    ///
    /// - Returns: a token that resumes it; `nil` when it had already ended otherwise, or can't be resumed.
    public func pause() async -> ResumptionToken? {
        feed.pause()
        task.cancel()
        guard case .failure(let error) = await task.value, error.code == .cancelled else { return nil }
        return error.token
    }

    /// Iterates over the statuses.
    public func makeAsyncIterator() -> Iterator { Iterator(feed: feed) }

    /// Yields the latest status that it hasn't yielded yet.
    public struct Iterator: AsyncIteratorProtocol {
        let feed: StatusFeed
        private var seen = 0

        init(feed: StatusFeed) { self.feed = feed }

        /// The latest unread status; `nil` after the last one, and when the task is cancelled.
        ///
        /// - Throws: The transfer's error, after the last status.
        public mutating func next() async throws -> TransferStatus? {
            try await feed.next(after: &seen)
        }
    }
}
