import NIOCore
import Synchronization

/// The content of an upload, whole and in order, whatever connections it came over. For one reader.
///
/// One piece at a time is in memory: the client is read on when the reader has taken it. The end throws a
/// `CancellationError` when the upload was given up.
public struct UploadBody: AsyncSequence, Sendable {
    /// Some bytes.
    public typealias Element = ByteBuffer

    let pipe: UploadPipe

    /// Reads the content.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let pipe: UploadPipe

        /// The next bytes; `nil` at the end.
        public mutating func next() async throws -> ByteBuffer? { try await pipe.next() }
    }

    /// Begins to read; to be called once.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pipe: pipe) }
}

/// Hands pieces from a writer to a reader, one at a time.
final class UploadPipe: Sendable {
    private enum State {
        case idle
        /// Nobody waits yet; the function is called when somebody does.
        case awaited(@Sendable () -> Void)
        case reading(CheckedContinuation<ByteBuffer?, any Error>)
        case offered(ByteBuffer, taken: @Sendable () -> Void)
        case ended
        case cancelled
    }

    private let state = Mutex(State.idle)

    /// Offers a piece, and calls `taken` once somebody has taken it, or nobody will.
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
            reader.resume(returning: piece)
            taken()
        case .offered, .ended, .cancelled: taken()
        }
    }

    /// No piece follows.
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

    /// Nobody reads on, or nothing follows: whoever waits is told.
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

    /// Calls `body` when somebody waits for content; never when content comes before, or nobody reads on.
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
                case .awaited(let tell): tell()
                case .offered(let piece, let taken):
                    continuation.resume(returning: piece)
                    taken()
                case .ended: continuation.resume(returning: nil)
                case .reading, .cancelled: continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            cancel()
        }
    }
}
