import NIOCore
import Synchronization

/// The content of an upload, complete and in order, regardless of how many connections it uses. For one reader.
///
/// At most one chunk is buffered: the client is read from again when the reader has taken it. Throws
/// `CancellationError` when the upload was abandoned.
public struct UploadBody: AsyncSequence, Sendable {
    /// A chunk.
    public typealias Element = ByteBuffer

    let pipe: UploadPipe

    /// Iterates over the content.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let pipe: UploadPipe

        /// The next bytes; `nil` at the end.
        public mutating func next() async throws -> ByteBuffer? { try await pipe.next() }
    }

    /// Makes the iterator; called once.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pipe: pipe) }
}

/// Passes chunks from a writer to a reader, one at a time.
final class UploadPipe: Sendable {
    private enum State {
        case idle
        /// No reader yet; the function is called when there is one.
        case awaited(@Sendable () -> Void)
        case reading(CheckedContinuation<ByteBuffer?, any Error>)
        case offered(ByteBuffer, taken: @Sendable () -> Void)
        case ended
        case cancelled
    }

    private let state = Mutex(State.idle)

    /// Offers a chunk, and calls `taken` when it was read, or never will be.
    func offer(_ piece: ByteBuffer, taken: @escaping @Sendable () -> Void) {
        let before = state.withLock { state in
            let before = state
            switch before {
            case .idle, .awaited: state = .offered(piece, taken: taken)
            case .reading: state = .idle
            case .offered, .ended, .cancelled: break
            }
            return before
        }
        switch before {
        case .idle, .awaited: break
        case .reading(let reader):
            // First, so that it counts before what the reader does then.
            taken()
            reader.resume(returning: piece)
        case .offered, .ended, .cancelled: taken()
        }
    }

    /// No chunk follows.
    func end() {
        let reader: CheckedContinuation<ByteBuffer?, any Error>? = state.withLock { state in
            switch state {
            case .idle, .awaited:
                state = .ended
                return nil
            case .reading(let reader):
                state = .ended
                return reader
            case .offered, .ended, .cancelled: return nil
            }
        }
        reader?.resume(returning: nil)
    }

    /// Ends reading; a waiting reader gets a `CancellationError`.
    func cancel() {
        let before = state.withLock { state in
            defer { if case .ended = state {} else { state = .cancelled } }
            return state
        }
        switch before {
        case .reading(let reader): reader.resume(throwing: CancellationError())
        case .offered(_, let taken): taken()
        case .idle, .awaited, .ended, .cancelled: break
        }
    }

    /// Calls `body` when a reader waits; never if content arrives first, or reading has ended.
    func whenRead(_ body: @escaping @Sendable () -> Void) {
        let isReading = state.withLock { state in
            switch state {
            case .idle, .awaited:
                state = .awaited(body)
                return false
            case .reading: return true
            case .offered, .ended, .cancelled: return false
            }
        }
        if isReading { body() }
    }

    func next() async throws -> ByteBuffer? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let before = state.withLock { state in
                    let before = state
                    switch state {
                    case .idle, .awaited: state = .reading(continuation)
                    case .offered: state = .idle
                    case .reading, .ended, .cancelled: break
                    }
                    return before
                }
                switch before {
                case .idle: break
                case .awaited(let notify): notify()
                case .offered(let piece, let taken):
                    taken()
                    continuation.resume(returning: piece)
                case .ended: continuation.resume(returning: nil)
                case .reading, .cancelled: continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            cancel()
        }
    }
}
