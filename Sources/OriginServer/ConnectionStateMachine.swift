import NIOCore
import ResumableUploads

/// The state of a connection, or of a stream of HTTP/2: requests arrive, one response at a time is sent, time passes.
///
/// Receiving and answering are separate states: a response may begin, and end, while its request is still arriving. Events go
/// in, actions come out; nothing is done here.
struct ConnectionStateMachine {
    /// The next step of the connection's handler.
    enum Action: Hashable {
        case nothing
        /// Answer the request whose head arrived last; end the connection afterwards with `thenClose`.
        case answer(thenClose: Bool)
        /// Answer that the request can't be read, and end the connection afterwards.
        case reject(Rejection)
        /// Close for sending, and go on reading until the client has closed too (RFC 9112, section 9.6): a client that is
        /// still sending would be reset, and lose the response.
        case closeOutput
        /// Close.
        case close
    }

    /// Why a request can't be read.
    enum Rejection: Hashable {
        case malformed
        case headTooLarge
        case versionNotSupported
        /// The request target is longer than `RequestTarget.maximumLength`.
        case targetTooLong
        /// The method is longer than any that is known.
        case methodUnknown
        /// The content arrives too slowly.
        case timedOut
        /// The server has all the connections that it takes; the request wasn't looked at.
        case tooManyConnections
    }

    /// Content that is thrown away.
    private struct Discard: Hashable {
        var bytes = 0
        var throughput: MinimumThroughput

        init(_ limits: OriginLimits, now: NIODeadline) {
            throughput = MinimumThroughput(rate: limits.contentRate, window: limits.contentWindow)
            throughput.waitBegan(at: now)
        }

        mutating func arrived(_ count: Int, at now: NIODeadline) {
            bytes += count
            throughput.bytesArrived(count, at: now)
            throughput.waitBegan(at: now)
        }
    }

    /// The part of a request that arrives next.
    private enum Receiving: Hashable {
        /// A head, of which nothing has arrived since the last request.
        case nextRequest(since: NIODeadline)
        /// The rest of a head.
        case head(since: NIODeadline)
        /// Content that is thrown away; the response waits for its end.
        case content(Discard, keepsAlive: Bool)
        /// Content that another handler takes.
        case taken
        /// Content that is thrown away, of a request that was answered.
        case rest(Discard)
        /// Nothing until the request is answered. Bytes of the next one may have come.
        case complete(hasBytesAhead: Bool)
        /// Nothing that counts: the connection ends with the response.
        case unwanted
        /// Nothing: the client has ended its side.
        case ended
    }

    /// The response.
    private enum Answering: Hashable {
        /// None yet to the current request.
        case notBegun
        /// Under way.
        case underWay(thenClose: Bool)
        /// The last one was sent; the client has yet to notice.
        case lingering(since: NIODeadline)
        case closed
    }

    private let limits: OriginLimits
    private let isRefused: Bool
    private var receiving: Receiving
    private var answering = Answering.notBegun
    /// Bytes handed to the channel and not yet taken by the system, and the last time that some were.
    private var unsentBytes = 0
    private var lastProgress: NIODeadline

    /// Makes the state of a connection that starts `now`. One that `isRefused` gets a single response, which says so.
    init(limits: OriginLimits, isRefused: Bool = false, now: NIODeadline) {
        self.limits = limits
        self.isRefused = isRefused
        receiving = .nextRequest(since: now)
        lastProgress = now
    }

    // MARK: - Receiving

    /// Bytes have arrived, not yet decoded.
    mutating func bytesArrived(at now: NIODeadline) {
        switch receiving {
        case .nextRequest: receiving = .head(since: now)
        case .complete: receiving = .complete(hasBytesAhead: true)
        case .head, .content, .taken, .rest, .unwanted, .ended: break
        }
    }

    /// The head of a request is complete. A refused connection is answered now.
    mutating func headArrived(keepsAlive: Bool, isAnsweredEarly: Bool, at now: NIODeadline) -> Action {
        guard isAwaitingHead else { return .nothing }
        if isRefused { return requestRejected(.tooManyConnections) }
        if isAnsweredEarly { return answerLast() }
        receiving = .content(Discard(limits, now: now), keepsAlive: keepsAlive)
        return .nothing
    }

    /// Another handler has taken the request whose head has arrived: it sends the response, and no content of it comes here.
    mutating func requestTaken() {
        guard isAwaitingHead else { return }
        receiving = .taken
        answering = .underWay(thenClose: false)
    }

    /// `count` bytes of content have arrived, and were thrown away.
    mutating func contentArrived(_ count: Int, at now: NIODeadline) -> Action {
        switch receiving {
        case .content(var discard, let keepsAlive):
            discard.arrived(count, at: now)
            receiving = .content(discard, keepsAlive: keepsAlive)
            return discard.bytes > limits.drainedBytes ? answerLast() : .nothing
        case .rest(var discard):
            discard.arrived(count, at: now)
            receiving = .rest(discard)
            return discard.bytes > limits.drainedBytes ? close() : .nothing
        case .nextRequest, .head, .taken, .complete, .unwanted, .ended:
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
        case .nextRequest, .head, .complete, .unwanted, .ended:
            return .nothing
        }
    }

    /// The bytes that arrive are no request.
    mutating func requestRejected(_ rejection: Rejection) -> Action {
        switch answering {
        case .notBegun:
            // It would be taken for the response to the next request.
            if case .rest = receiving { return close() }
            receiving = .unwanted
            answering = .underWay(thenClose: true)
            return .reject(rejection)
        case .underWay:
            answerEndsConnection()
            return .nothing
        case .lingering, .closed:
            return .nothing
        }
    }

    /// The client has ended its side; it may still read.
    mutating func inputEnded() -> Action {
        receiving = .ended
        switch answering {
        case .underWay:
            answerEndsConnection()
            return .nothing
        case .notBegun, .lingering: return close()
        case .closed: return .nothing
        }
    }

    private var isAwaitingHead: Bool {
        guard case .notBegun = answering else { return false }
        switch receiving {
        case .nextRequest, .head: return true
        case .content, .taken, .rest, .complete, .unwanted, .ended: return false
        }
    }

    // MARK: - Answering

    /// Whether the connection ends with the response that is under way.
    var endsConnection: Bool { answering == .underWay(thenClose: true) }

    /// The connection ends with the response that is under way.
    mutating func answerEndsConnection() {
        if case .underWay = answering { answering = .underWay(thenClose: true) }
    }

    private mutating func answerLast() -> Action {
        receiving = .unwanted
        answering = .underWay(thenClose: true)
        return .answer(thenClose: true)
    }

    /// All of a response was taken by the system.
    mutating func answerEnded(at now: NIODeadline) -> Action {
        guard case .underWay(let thenClose) = answering else { return .nothing }
        if thenClose {
            guard receiving != .ended else { return close() }
            answering = .lingering(since: now)
            return .closeOutput
        }
        answering = .notBegun
        switch receiving {
        case .complete(let hasBytesAhead): receiving = hasBytesAhead ? .head(since: now) : .nextRequest(since: now)
        case .taken: receiving = .rest(Discard(limits, now: now))
        case .nextRequest, .head, .content, .rest, .unwanted, .ended: break
        }
        return .nothing
    }

    /// A response can't be finished.
    mutating func answerFailed() -> Action { close() }

    private mutating func close() -> Action {
        answering = .closed
        return .close
    }

    /// `count` bytes were handed to the channel.
    mutating func bytesWritten(_ count: Int, at now: NIODeadline) {
        if unsentBytes == 0 { lastProgress = now }
        unsentBytes += count
    }

    /// `count` of these bytes were taken by the system.
    mutating func bytesSent(_ count: Int, at now: NIODeadline) {
        unsentBytes -= count
        lastProgress = now
    }

    // MARK: - Time

    /// When to tell the time next; `nil` while the connection waits for nobody but the server.
    var deadline: NIODeadline? {
        switch answering {
        case .closed: nil
        case .lingering(let since): since + limits.lingerTimeout
        case .underWay: unsentBytes > 0 ? lastProgress + limits.stallTimeout : nil
        case .notBegun:
            switch receiving {
            case .nextRequest(let since): since + limits.idleTimeout
            case .head(let since): since + limits.headTimeout
            case .content(let discard, _), .rest(let discard): discard.throughput.deadline
            case .taken, .complete, .unwanted, .ended: nil
            }
        }
    }

    /// It is `now`.
    mutating func timeAdvanced(to now: NIODeadline) -> Action {
        guard let deadline, deadline <= now else { return .nothing }
        guard case .notBegun = answering else { return close() }
        switch receiving {
        case .content(var discard, let keepsAlive):
            if discard.throughput.isTooSlow(at: now) { return requestRejected(.timedOut) }
            receiving = .content(discard, keepsAlive: keepsAlive)
            return .nothing
        case .rest(var discard):
            if discard.throughput.isTooSlow(at: now) { return close() }
            receiving = .rest(discard)
            return .nothing
        case .nextRequest, .head, .taken, .complete, .unwanted, .ended:
            return close()
        }
    }
}
