import NIOCore
import ResumableUploads

/// The state machine of an HTTP/1 connection or HTTP/2 stream: requests arrive, one response at a time is sent, time
/// passes.
///
/// Receiving and responding are separate states: a response may start, and end, while its request is still arriving.
/// Consumes events and returns actions, without side effects.
struct ConnectionStateMachine {
    /// The next action of the connection's handler.
    enum Action: Hashable {
        case nothing
        /// Respond to the last request.
        case respond
        /// Respond that the request is invalid, and end the connection afterwards.
        case reject(Rejection)
        /// Close the output, and read until the client has closed too (RFC 9112, section 9.6): otherwise a client that
        /// is still sending would get a reset and lose the response.
        case closeOutput
        /// Close.
        case close
    }

    /// Why a request is rejected.
    enum Rejection: Hashable {
        case malformed
        case headTooLarge
        case versionNotSupported
        /// The request target is longer than `RequestTarget.maximumLength`.
        case targetTooLong
        /// The method is longer than any registered one.
        case methodUnknown
        /// The content arrived too slowly.
        case timedOut
        /// The server is at its connection limit; the request wasn't parsed.
        case tooManyConnections
    }

    /// Content that is discarded.
    private struct Discard: Hashable {
        var bytes = 0
        var throughput: ThroughputMonitor

        init(_ limits: OriginLimits, now: NIODeadline) {
            throughput = ThroughputMonitor(rate: limits.minimumContentRate, window: limits.contentRateWindow)
            throughput.waitBegan(at: now)
        }

        mutating func arrived(_ count: Int, at now: NIODeadline) {
            bytes += count
            throughput.bytesArrived(count, at: now)
            throughput.waitBegan(at: now)
        }
    }

    /// The part of a request that arrives next.
    private enum RequestState: Hashable {
        /// A head; nothing of it has arrived since the last request.
        case nextRequest(since: NIODeadline)
        /// The rest of a head.
        case head(since: NIODeadline)
        /// Content that is discarded; the response follows its end.
        case content(Discard, keepsAlive: Bool)
        /// Content for another handler.
        case delegated
        /// Remaining content, discarded, of a request that was already answered.
        case remainingContent(Discard)
        /// Nothing until the response. Bytes of the next request may have arrived.
        case complete(hasBytesAhead: Bool)
        /// Ignored: the connection ends with the response.
        case ignored
        /// Nothing: the client has closed its output.
        case ended
    }

    /// The state of the response.
    private enum ResponseState: Hashable {
        /// No response to the current request yet.
        case idle
        /// A response is being sent.
        case sending(thenClose: Bool)
        /// The last response was sent; the client hasn't closed yet.
        case lingering(since: NIODeadline)
        case closed
    }

    private let limits: OriginLimits
    private let isRefused: Bool
    private var requestState: RequestState
    private var responseState = ResponseState.idle
    /// Bytes passed to the channel but not yet to the system, and when some were last.
    private var unsentBytes = 0
    private var lastProgress: NIODeadline

    /// Makes the state of a connection that starts `now`. If `isRefused`, it gets a single 503.
    init(limits: OriginLimits, isRefused: Bool = false, now: NIODeadline) {
        self.limits = limits
        self.isRefused = isRefused
        requestState = .nextRequest(since: now)
        lastProgress = now
    }

    // MARK: - Receiving

    /// Undecoded bytes arrived.
    mutating func bytesArrived(at now: NIODeadline) {
        switch requestState {
        case .nextRequest: requestState = .head(since: now)
        case .complete: requestState = .complete(hasBytesAhead: true)
        case .head, .content, .delegated, .remainingContent, .ignored, .ended: break
        }
    }

    /// The head of a request is complete. A refused connection is answered now.
    mutating func headArrived(keepsAlive: Bool, isRespondedEarly: Bool, at now: NIODeadline) -> Action {
        guard isAwaitingHead else { return .nothing }
        if isRefused { return requestRejected(.tooManyConnections) }
        if isRespondedEarly { return respondAndClose() }
        requestState = .content(Discard(limits, now: now), keepsAlive: keepsAlive)
        return .nothing
    }

    /// Another handler took the current request: it sends the response, and no content arrives here.
    mutating func requestDelegated() {
        guard isAwaitingHead else { return }
        requestState = .delegated
        responseState = .sending(thenClose: false)
    }

    /// `count` bytes of content arrived and were discarded.
    mutating func contentArrived(_ count: Int, at now: NIODeadline) -> Action {
        switch requestState {
        case .content(var discard, let keepsAlive):
            discard.arrived(count, at: now)
            requestState = .content(discard, keepsAlive: keepsAlive)
            return discard.bytes > limits.maximumDiscardedBytes ? respondAndClose() : .nothing
        case .remainingContent(var discard):
            discard.arrived(count, at: now)
            requestState = .remainingContent(discard)
            return discard.bytes > limits.maximumDiscardedBytes ? close() : .nothing
        case .nextRequest, .head, .delegated, .complete, .ignored, .ended:
            return .nothing
        }
    }

    /// A request is complete.
    mutating func requestEnded(at now: NIODeadline) -> Action {
        switch requestState {
        case .content(_, let keepsAlive):
            requestState = .complete(hasBytesAhead: false)
            responseState = .sending(thenClose: !keepsAlive)
            return .respond
        case .delegated:
            requestState = .complete(hasBytesAhead: false)
            return .nothing
        case .remainingContent:
            requestState = .nextRequest(since: now)
            return .nothing
        case .nextRequest, .head, .complete, .ignored, .ended:
            return .nothing
        }
    }

    /// Invalid bytes arrived.
    mutating func requestRejected(_ rejection: Rejection) -> Action {
        switch responseState {
        case .idle:
            // It would be taken for the response to the next request.
            if case .remainingContent = requestState { return close() }
            requestState = .ignored
            responseState = .sending(thenClose: true)
            return .reject(rejection)
        case .sending:
            closeAfterResponse()
            return .nothing
        case .lingering, .closed:
            return .nothing
        }
    }

    /// The client closed its output; it may still read.
    mutating func inputEnded() -> Action {
        requestState = .ended
        switch responseState {
        case .sending:
            closeAfterResponse()
            return .nothing
        case .idle, .lingering: return close()
        case .closed: return .nothing
        }
    }

    private var isAwaitingHead: Bool {
        guard case .idle = responseState else { return false }
        switch requestState {
        case .nextRequest, .head: return true
        case .content, .delegated, .remainingContent, .complete, .ignored, .ended: return false
        }
    }

    // MARK: - Answering

    /// Whether the connection ends with the current response.
    var endsConnection: Bool { responseState == .sending(thenClose: true) }

    /// Ends the connection with the current response.
    mutating func closeAfterResponse() {
        if case .sending = responseState { responseState = .sending(thenClose: true) }
    }

    private mutating func respondAndClose() -> Action {
        requestState = .ignored
        responseState = .sending(thenClose: true)
        return .respond
    }

    /// The system has taken all of a response.
    mutating func responseEnded(at now: NIODeadline) -> Action {
        guard case .sending(let thenClose) = responseState else { return .nothing }
        if thenClose {
            guard requestState != .ended else { return close() }
            responseState = .lingering(since: now)
            return .closeOutput
        }
        responseState = .idle
        switch requestState {
        case .complete(let hasBytesAhead): requestState = hasBytesAhead ? .head(since: now) : .nextRequest(since: now)
        case .delegated: requestState = .remainingContent(Discard(limits, now: now))
        case .nextRequest, .head, .content, .remainingContent, .ignored, .ended: break
        }
        return .nothing
    }

    /// A response can't be completed.
    mutating func responseFailed() -> Action { close() }

    private mutating func close() -> Action {
        responseState = .closed
        return .close
    }

    /// `count` bytes were passed to the channel.
    mutating func bytesWritten(_ count: Int, at now: NIODeadline) {
        if unsentBytes == 0 { lastProgress = now }
        unsentBytes += count
    }

    /// The system has taken `count` of these bytes.
    mutating func bytesSent(_ count: Int, at now: NIODeadline) {
        unsentBytes -= count
        lastProgress = now
    }

    // MARK: - Time

    /// When to call `timeAdvanced(to:)` next; `nil` while the connection only waits for the server.
    var deadline: NIODeadline? {
        switch responseState {
        case .closed: nil
        case .lingering(let since): since + limits.lingerTimeout
        case .sending: unsentBytes > 0 ? lastProgress + limits.stallTimeout : nil
        case .idle:
            switch requestState {
            case .nextRequest(let since): since + limits.idleTimeout
            case .head(let since): since + limits.headTimeout
            case .content(let discard, _), .remainingContent(let discard): discard.throughput.deadline
            case .delegated, .complete, .ignored, .ended: nil
            }
        }
    }

    /// Time has advanced to `now`.
    mutating func timeAdvanced(to now: NIODeadline) -> Action {
        guard let deadline, deadline <= now else { return .nothing }
        guard case .idle = responseState else { return close() }
        switch requestState {
        case .content(var discard, let keepsAlive):
            if discard.throughput.isTooSlow(at: now) { return requestRejected(.timedOut) }
            requestState = .content(discard, keepsAlive: keepsAlive)
            return .nothing
        case .remainingContent(var discard):
            if discard.throughput.isTooSlow(at: now) { return close() }
            requestState = .remainingContent(discard)
            return .nothing
        case .nextRequest, .head, .delegated, .complete, .ignored, .ended:
            return close()
        }
    }
}
