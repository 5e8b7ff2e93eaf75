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
        /// Respond to the last request; `thenClose` ends the connection afterwards.
        case answer(thenClose: Bool)
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
        case taken
        /// Remaining content, discarded, of a request that was already answered.
        case rest(Discard)
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
        case underWay(thenClose: Bool)
        /// The last response was sent; the client hasn't closed yet.
        case lingering(since: NIODeadline)
        case closed
    }

    private let limits: OriginLimits
    private let isRefused: Bool
    private var receiving: RequestState
    private var answering = ResponseState.idle
    /// Bytes passed to the channel but not yet to the system, and when some were last.
    private var unsentBytes = 0
    private var lastProgress: NIODeadline

    /// Makes the state of a connection that starts `now`. If `isRefused`, it gets a single 503.
    init(limits: OriginLimits, isRefused: Bool = false, now: NIODeadline) {
        self.limits = limits
        self.isRefused = isRefused
        receiving = .nextRequest(since: now)
        lastProgress = now
    }

    // MARK: - Receiving

    /// Undecoded bytes arrived.
    mutating func bytesArrived(at now: NIODeadline) {
        switch receiving {
        case .nextRequest: receiving = .head(since: now)
        case .complete: receiving = .complete(hasBytesAhead: true)
        case .head, .content, .taken, .rest, .ignored, .ended: break
        }
    }

    /// The head of a request is complete. A refused connection is answered now.
    mutating func headArrived(keepsAlive: Bool, isRespondedEarly: Bool, at now: NIODeadline) -> Action {
        guard isAwaitingHead else { return .nothing }
        if isRefused { return requestRejected(.tooManyConnections) }
        if isRespondedEarly { return respondAndClose() }
        receiving = .content(Discard(limits, now: now), keepsAlive: keepsAlive)
        return .nothing
    }

    /// Another handler took the current request: it sends the response, and no content arrives here.
    mutating func requestDelegated() {
        guard isAwaitingHead else { return }
        receiving = .taken
        answering = .underWay(thenClose: false)
    }

    /// `count` bytes of content arrived and were discarded.
    mutating func contentArrived(_ count: Int, at now: NIODeadline) -> Action {
        switch receiving {
        case .content(var discard, let keepsAlive):
            discard.arrived(count, at: now)
            receiving = .content(discard, keepsAlive: keepsAlive)
            return discard.bytes > limits.maximumDiscardedBytes ? respondAndClose() : .nothing
        case .rest(var discard):
            discard.arrived(count, at: now)
            receiving = .rest(discard)
            return discard.bytes > limits.maximumDiscardedBytes ? close() : .nothing
        case .nextRequest, .head, .taken, .complete, .ignored, .ended:
            return .nothing
        }
    }

    /// A request is complete.
    mutating func requestEnded(at now: NIODeadline) -> Action {
        switch receiving {
        case .content(_, let keepsAlive):
            receiving = .complete(hasBytesAhead: false)
            answering = .underWay(thenClose: !keepsAlive)
            return .answer(thenClose: !keepsAlive)
        case .taken:
            receiving = .complete(hasBytesAhead: false)
            return .nothing
        case .rest:
            receiving = .nextRequest(since: now)
            return .nothing
        case .nextRequest, .head, .complete, .ignored, .ended:
            return .nothing
        }
    }

    /// Invalid bytes arrived.
    mutating func requestRejected(_ rejection: Rejection) -> Action {
        switch answering {
        case .idle:
            // It would be taken for the response to the next request.
            if case .rest = receiving { return close() }
            receiving = .ignored
            answering = .underWay(thenClose: true)
            return .reject(rejection)
        case .underWay:
            closeAfterResponse()
            return .nothing
        case .lingering, .closed:
            return .nothing
        }
    }

    /// The client closed its output; it may still read.
    mutating func inputEnded() -> Action {
        receiving = .ended
        switch answering {
        case .underWay:
            closeAfterResponse()
            return .nothing
        case .idle, .lingering: return close()
        case .closed: return .nothing
        }
    }

    private var isAwaitingHead: Bool {
        guard case .idle = answering else { return false }
        switch receiving {
        case .nextRequest, .head: return true
        case .content, .taken, .rest, .complete, .ignored, .ended: return false
        }
    }

    // MARK: - Answering

    /// Whether the connection ends with the current response.
    var endsConnection: Bool { answering == .underWay(thenClose: true) }

    /// Ends the connection with the current response.
    mutating func closeAfterResponse() {
        if case .underWay = answering { answering = .underWay(thenClose: true) }
    }

    private mutating func respondAndClose() -> Action {
        receiving = .ignored
        answering = .underWay(thenClose: true)
        return .answer(thenClose: true)
    }

    /// The system has taken all of a response.
    mutating func responseEnded(at now: NIODeadline) -> Action {
        guard case .underWay(let thenClose) = answering else { return .nothing }
        if thenClose {
            guard receiving != .ended else { return close() }
            answering = .lingering(since: now)
            return .closeOutput
        }
        answering = .idle
        switch receiving {
        case .complete(let hasBytesAhead): receiving = hasBytesAhead ? .head(since: now) : .nextRequest(since: now)
        case .taken: receiving = .rest(Discard(limits, now: now))
        case .nextRequest, .head, .content, .rest, .ignored, .ended: break
        }
        return .nothing
    }

    /// A response can't be completed.
    mutating func responseFailed() -> Action { close() }

    private mutating func close() -> Action {
        answering = .closed
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
        switch answering {
        case .closed: nil
        case .lingering(let since): since + limits.lingerTimeout
        case .underWay: unsentBytes > 0 ? lastProgress + limits.stallTimeout : nil
        case .idle:
            switch receiving {
            case .nextRequest(let since): since + limits.idleTimeout
            case .head(let since): since + limits.headTimeout
            case .content(let discard, _), .rest(let discard): discard.throughput.deadline
            case .taken, .complete, .ignored, .ended: nil
            }
        }
    }

    /// Time has advanced to `now`.
    mutating func timeAdvanced(to now: NIODeadline) -> Action {
        guard let deadline, deadline <= now else { return .nothing }
        guard case .idle = answering else { return close() }
        switch receiving {
        case .content(var discard, let keepsAlive):
            if discard.throughput.isTooSlow(at: now) { return requestRejected(.timedOut) }
            receiving = .content(discard, keepsAlive: keepsAlive)
            return .nothing
        case .rest(var discard):
            if discard.throughput.isTooSlow(at: now) { return close() }
            receiving = .rest(discard)
            return .nothing
        case .nextRequest, .head, .taken, .complete, .ignored, .ended:
            return close()
        }
    }
}
