import NIOCore
import NIOHTTPTypes
import Synchronization
import TransferProtocol

/// The content of one request, read in pieces as fast as the connection takes it.
final class UploadBodyWriter: Sendable {
    /// The size of parts written to the connection: small enough to show progress on a slow one.
    static let partSize = 16 << 10
    /// The maximum number of bytes that the connection's loop hasn't handled: 1 MiB. A busy loop learns only later that the
    /// connection takes nothing more.
    static let maximumUnhandledBytes = 1 << 20

    /// Content in parts of `partSize`.
    static func parts(of content: ByteBuffer) -> [HTTPRequestPart] {
        var (rest, parts) = (content, [HTTPRequestPart]())
        while rest.readableBytes > 0, let part = rest.readSlice(length: min(partSize, rest.readableBytes)) {
            parts.append(.body(part))
        }
        return parts
    }

    private struct State {
        var sent: Int64 = 0
        var hasBegunCompletion = false
        var failure: TransferError?
        /// Whether the content waits for the first interim response.
        var awaitsInterimResponse: Bool
        /// Whether the content waits for the upload resource to be journalled.
        var isPaused = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let source: UploadContent
    private let range: Range<Int64>
    private let completes: Bool
    private let pacer: TransferPacer?
    private let beforeCompletion: @Sendable () async throws(TransferError) -> Void
    private let onProgress: @Sendable (Int64) -> Void
    private let state: Mutex<State>

    /// The bytes of `range` of the content, at the rate of `pacer`. If `awaitsInterimResponse`, they wait for `release()`.
    ///
    /// `beforeCompletion` is called before the last bytes, when all content has been read unchanged, and `onProgress` with
    /// the offset after each write.
    init(
        _ source: UploadContent,
        _ range: Range<Int64>,
        completes: Bool,
        awaitsInterimResponse: Bool,
        _ pacer: TransferPacer? = nil,
        beforeCompletion: @escaping @Sendable () async throws(TransferError) -> Void,
        onProgress: @escaping @Sendable (Int64) -> Void
    ) {
        self.source = source
        self.range = range
        self.completes = completes
        self.pacer = pacer
        self.beforeCompletion = beforeCompletion
        self.onProgress = onProgress
        state = Mutex(State(awaitsInterimResponse: awaitsInterimResponse))
    }

    /// The bytes written to the connection.
    var sent: Int64 { state.withLock { $0.sent } }
    /// Whether all bytes of the range were written to the connection.
    var hasSentAll: Bool { sent == Int64(range.count) }
    /// Whether the last bytes, or the end of empty content, were written to the connection.
    var hasBegunCompletion: Bool { state.withLock { $0.hasBegunCompletion } }
    /// Why the content can't be read further.
    var failure: TransferError? { state.withLock { $0.failure } }

    /// Stops waiting for a response.
    func release() { change { $0.awaitsInterimResponse = false } }
    /// Sends nothing more until `resume()`.
    func pause() { change { $0.isPaused = true } }
    /// Continues sending.
    func resume() { change { $0.isPaused = false } }

    /// Sends the content and its end; stops when the task is cancelled. `handled` returns when the connection's loop has
    /// handled what was written. After an error of its own it calls `close`, so that the reader of the response notices.
    func run(
        through outbound: NIOAsyncChannelOutboundWriter<HTTPRequestPart>,
        handled: @Sendable () async throws -> Void,
        close: @Sendable () -> Void
    ) async {
        do {
            var (offset, unhandled) = (range.lowerBound, 0)
            repeat {
                await waitUntilAllowed()
                try Task.checkCancellation()
                var buffer = ByteBuffer()
                if offset < range.upperBound { buffer = try await source.read(nextPiece(from: offset)) }
                let size = buffer.readableBytes
                try await pacer?.admit(size)
                offset += Int64(size)
                if offset == range.upperBound, completes {
                    try source.checkUnchanged()
                    try await beforeCompletion()
                    // A resource named meanwhile is journalled first.
                    await waitUntilAllowed()
                    try Task.checkCancellation()
                    state.withLock { $0.hasBegunCompletion = true }
                }
                state.withLock { $0.sent = offset - range.lowerBound }
                var parts = Self.parts(of: buffer)
                if offset == range.upperBound { parts.append(.end(nil)) }
                try await outbound.write(contentsOf: parts)
                unhandled += size
                if unhandled >= Self.maximumUnhandledBytes {
                    try await handled()
                    unhandled = 0
                }
                onProgress(offset)
            } while offset < range.upperBound
        } catch TransferError.cancelled {
            // Only the reader of the response cancels sending.
        } catch let error as TransferError {
            state.withLock { $0.failure = error }
            close()
        } catch {
            // The connection failed: the server's response may still be readable.
        }
    }

    /// The rest of the range, or the next chunk when rate-limited.
    private func nextPiece(from offset: Int64) -> Range<Int64> {
        guard let pacer else { return offset..<range.upperBound }
        return offset..<min(range.upperBound, offset + Int64(pacer.chunkLength))
    }

    /// Returns when the content may be sent, or when the task is cancelled.
    private func waitUntilAllowed() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayPass = state.withLock { state in
                    if !state.awaitsInterimResponse && !state.isPaused || Task.isCancelled { return true }
                    state.waiter = continuation
                    return false
                }
                if mayPass { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            body(&state)
            guard !state.awaitsInterimResponse, !state.isPaused else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
