import NIOCore

/// The life of a connection as a value: requests come in, one answer at a time goes out, and time passes.
///
/// Events go in, what is to be done comes out; nothing is done here.
struct RequestCycle {
    /// What is to be done.
    enum Action: Hashable {
        case nothing
        /// Answer the request whose head was taken last, and end the connection afterwards if told so.
        case answer(thenClose: Bool)
        /// Answer that the request can't be read, and end the connection afterwards.
        case reject(Rejection)
        /// Close for sending, and go on reading until the client has closed too (RFC 9112, section 9.6): it may still
        /// be sending, and the reset that this would earn it would take the answer from it.
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
        case timedOut
        /// It wasn't even looked at: the server has all the connections that it takes.
        case tooManyConnections
    }

    private enum Phase: Hashable {
        /// Between requests, since then.
        case idle(since: NIODeadline)
        /// A request has begun to arrive. `keepsAlive` is known once its head is complete.
        case receiving(since: NIODeadline, Head?)
        /// An answer is under way.
        case answering(thenClose: Bool)
        /// The last answer has been sent; the client has yet to take notice.
        case lingering(since: NIODeadline)
        case closed
    }

    private struct Head: Hashable {
        let keepsAlive: Bool
        var drained: Int
    }

    private let limits: OriginLimits
    private let isRefused: Bool
    private var phase: Phase
    /// Bytes of the next request may have come while the last was being answered.
    private var hasBytesAhead = false
    private var inputHasEnded = false
    /// Bytes handed to the channel and not yet taken by the system, and the last time that some were.
    private var unsentBytes = 0
    private var lastProgress: NIODeadline

    /// Makes the cycle of a connection that starts `now`. One that `isRefused` gets a single answer, which says so.
    init(limits: OriginLimits, isRefused: Bool = false, now: NIODeadline) {
        self.limits = limits
        self.isRefused = isRefused
        phase = .idle(since: now)
        lastProgress = now
    }

    /// Bytes have arrived, of which request or what part of it isn't known yet.
    mutating func bytesArrived(at now: NIODeadline) {
        switch phase {
        case .idle: phase = .receiving(since: now, nil)
        case .answering: hasBytesAhead = true
        case .receiving, .lingering, .closed: break
        }
    }

    /// The head of a request is complete. On a connection that is refused, that is when it is told so.
    mutating func headArrived(keepsAlive: Bool, isAnsweredEarly: Bool) -> Action {
        let since: NIODeadline
        switch phase {
        case .idle(let start), .receiving(let start, nil): since = start
        case .receiving, .answering, .lingering, .closed: return .nothing
        }
        if isRefused { return requestRejected(.tooManyConnections) }
        if isAnsweredEarly {
            phase = .answering(thenClose: true)
            return .answer(thenClose: true)
        }
        phase = .receiving(since: since, Head(keepsAlive: keepsAlive, drained: 0))
        return .nothing
    }

    /// `count` bytes of a request's content have arrived and were thrown away.
    mutating func contentArrived(_ count: Int) -> Action {
        guard case .receiving(let since, .some(var head)) = phase else { return .nothing }
        head.drained += count
        guard head.drained <= limits.drainedBytes else {
            phase = .answering(thenClose: true)
            return .answer(thenClose: true)
        }
        phase = .receiving(since: since, head)
        return .nothing
    }

    /// A request is complete.
    mutating func requestEnded() -> Action {
        switch phase {
        case .receiving(_, .some(let head)):
            hasBytesAhead = false
            phase = .answering(thenClose: !head.keepsAlive)
            return .answer(thenClose: !head.keepsAlive)
        case .idle, .receiving, .answering, .lingering, .closed:
            return .nothing
        }
    }

    /// Another handler has taken the request whose head has arrived; it answers it, and no content of it comes here.
    mutating func requestTaken() {
        switch phase {
        case .idle, .receiving: phase = .answering(thenClose: false)
        case .answering, .lingering, .closed: break
        }
    }

    /// The connection is over with the answer that is under way.
    mutating func answerEndsConnection() {
        if case .answering = phase { phase = .answering(thenClose: true) }
    }

    /// What arrives is no request.
    mutating func requestRejected(_ rejection: Rejection) -> Action {
        switch phase {
        case .idle, .receiving:
            phase = .answering(thenClose: true)
            return .reject(rejection)
        case .answering:
            phase = .answering(thenClose: true)
            return .nothing
        case .lingering, .closed:
            return .nothing
        }
    }

    /// The client will send no more; it may still read.
    mutating func inputEnded() -> Action {
        inputHasEnded = true
        switch phase {
        case .answering:
            phase = .answering(thenClose: true)
            return .nothing
        case .idle, .receiving, .lingering:
            phase = .closed
            return .close
        case .closed:
            return .nothing
        }
    }

    /// All of an answer was taken by the system.
    mutating func answerEnded(at now: NIODeadline) -> Action {
        guard case .answering(let thenClose) = phase else { return .nothing }
        if thenClose {
            phase = inputHasEnded ? .closed : .lingering(since: now)
            return inputHasEnded ? .close : .closeOutput
        }
        phase = hasBytesAhead ? .receiving(since: now, nil) : .idle(since: now)
        hasBytesAhead = false
        return .nothing
    }

    /// An answer can't be finished.
    mutating func answerFailed() -> Action {
        phase = .closed
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

    /// When to say next what time it is; `nil` while the connection waits for nobody but the server.
    var deadline: NIODeadline? {
        switch phase {
        case .idle(let since): since + limits.idleTimeout
        case .receiving(let since, _): since + limits.requestTimeout
        case .answering: unsentBytes > 0 ? lastProgress + limits.stallTimeout : nil
        case .lingering(let since): since + limits.lingerTimeout
        case .closed: nil
        }
    }

    /// It is `now`.
    mutating func timeAdvanced(to now: NIODeadline) -> Action {
        guard let deadline, deadline <= now else { return .nothing }
        switch phase {
        case .receiving(_, .some):
            return requestRejected(.timedOut)
        case .idle, .receiving(_, nil), .answering, .lingering:
            phase = .closed
            return .close
        case .closed:
            return .nothing
        }
    }
}
