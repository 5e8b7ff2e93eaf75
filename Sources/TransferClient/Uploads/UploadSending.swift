import NIOCore
import NIOHTTPTypes
import Synchronization
import TransferProtocol

/// The content of one request on its way: read piece by piece, as fast as the connection takes it.
final class UploadSending: Sendable {
    /// The size of the parts that are handed to the connection: small enough that a slow one shows progress.
    static let partSize = 16 << 10

    private struct State {
        var sent: Int64 = 0
        var hasBegunCompletion = false
        var failure: UploadError?
        /// Set while the first informational response is waited for.
        var isHeld: Bool
        /// Set while the upload's resource is brought to the disk.
        var isPaused = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let source: UploadContent
    private let range: Range<Int64>
    private let completes: Bool
    private let pacer: TransferPacer?
    private let state: Mutex<State>

    /// The bytes of `range` of the content, at the rate of `pacer`. `isHeld` tells that they wait for `release()`.
    init(
        _ source: UploadContent,
        _ range: Range<Int64>,
        completes: Bool,
        isHeld: Bool,
        _ pacer: TransferPacer? = nil
    ) {
        self.source = source
        self.range = range
        self.completes = completes
        self.pacer = pacer
        state = Mutex(State(isHeld: isHeld))
    }

    /// The bytes that were handed to the connection.
    var sent: Int64 { state.withLock { $0.sent } }
    /// Whether the last bytes were handed to the connection, or the end of an empty content.
    var hasBegunCompletion: Bool { state.withLock { $0.hasBegunCompletion } }
    /// Why the content can't be sent on.
    var failure: UploadError? { state.withLock { $0.failure } }

    /// The content needn't wait for a response any longer.
    func release() { change { $0.isHeld = false } }
    /// Nothing more is sent until `resume()`.
    func pause() { change { $0.isPaused = true } }
    /// Sending goes on.
    func resume() { change { $0.isPaused = false } }

    /// Sends the content and its end; stops at once when the task is cancelled. What fails here closes the channel, so
    /// that the reader of the response learns of it.
    ///
    /// `beforeCompletion` is called before the last bytes, when the whole content has been read unchanged.
    func run(
        through outbound: NIOAsyncChannelOutboundWriter<HTTPRequestPart>,
        of channel: any Channel,
        beforeCompletion: @Sendable () async throws(UploadError) -> Void,
        onProgress: @Sendable (Int64) -> Void
    ) async {
        do {
            var offset = range.lowerBound
            repeat {
                await passage()
                try Task.checkCancellation()
                var buffer = ByteBuffer()
                if offset < range.upperBound { buffer = try await source.read(nextPiece(from: offset)) }
                try await pacer?.admit(buffer.readableBytes)
                offset += Int64(buffer.readableBytes)
                if offset == range.upperBound, completes {
                    try source.checkUnchanged()
                    try await beforeCompletion()
                    // A resource that came meanwhile is kept first.
                    await passage()
                    try Task.checkCancellation()
                    state.withLock { $0.hasBegunCompletion = true }
                }
                state.withLock { $0.sent = offset - range.lowerBound }
                var parts: [HTTPRequestPart] = []
                while let part = buffer.readSlice(length: min(Self.partSize, buffer.readableBytes)),
                    part.readableBytes > 0
                {
                    parts.append(.body(part))
                }
                if offset == range.upperBound { parts.append(.end(nil)) }
                try await outbound.write(contentsOf: parts)
                onProgress(offset)
            } while offset < range.upperBound
        } catch UploadError.cancelled {
            // Only the reader of the response ends the sending so.
        } catch let error as UploadError {
            state.withLock { $0.failure = error }
            channel.close(promise: nil)
        } catch {
            // The connection's own failure: what the server has answered is still to be read.
        }
    }

    /// The rest of the range, or what is sent of it at a time where a rate limits it.
    private func nextPiece(from offset: Int64) -> Range<Int64> {
        guard let pacer else { return offset..<range.upperBound }
        return offset..<min(range.upperBound, offset + Int64(pacer.pieceLength))
    }

    /// Returns when nothing keeps the content back, or when the task is cancelled.
    private func passage() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayPass = state.withLock { state in
                    if !state.isHeld && !state.isPaused || Task.isCancelled { return true }
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
            guard !state.isHeld, !state.isPaused else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
