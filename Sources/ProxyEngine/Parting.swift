import EventLoop
import FaultPlan
import Units

/// The last socket of a connection that is being ended, until its receiver has everything.
///
/// A reset throws away what the receiver's kernel has not acknowledged, so it waits for that, though not on a
/// Unix-domain socket, where nothing is thrown away. A receiver that is busy
/// sending would never come to receive, so what it sends meanwhile is read and dropped. A close
/// whose socket still holds unread bytes would become a reset, so what the receiver sends is read and
/// dropped until it closes as well.
final class Parting {
    /// Receives at one look before a reset: 8.
    static let roundLimit = 8
    /// The pauses between two looks at what is acknowledged: from 100 µs, doubled up to 20 ms.
    static let firstPause: Int64 = 100_000
    static let longestPause: Int64 = 20_000_000

    /// How the receiver sees the end.
    enum Manner {
        case close
        case reset
    }

    enum Step {
        /// Not yet; to be asked again at the moment, or when the socket is ready.
        case waiting(Moment)
        /// The socket is closed; so many bytes were not acknowledged.
        case done(unacknowledged: Int)
    }

    let receiver: StreamSocket
    private let manner: Manner
    private let limits: DrainLimits
    private var deadline: Moment
    /// What the receiver had to acknowledge at the last look.
    private var unacknowledged: Int
    private var pause = Parting.firstPause
    private var dropped = 0
    /// Whether the receiver's own stream has ended.
    private var hasSentAll = false

    init(receiver: StreamSocket, manner: Manner, limits: DrainLimits, now: Moment) {
        self.receiver = receiver
        self.manner = manner
        self.limits = limits
        deadline = now + (manner == .reset ? limits.resetGrace : limits.closeGrace)
        unacknowledged = manner == .reset ? receiver.unacknowledged() : 0
    }

    private var dropLimit: Int { manner == .reset ? limits.resetDropLimit : limits.closeDropLimit }

    /// Ends the socket if its time has come.
    func step(at now: Moment) -> Step {
        switch manner {
        case .reset:
            let remaining = receiver.unacknowledged()
            // A receiver that takes something is given the time for the rest.
            if remaining < unacknowledged { (deadline, unacknowledged) = (now + limits.resetGrace, remaining) }
            if remaining == 0 || now >= deadline || dropped > dropLimit {
                receiver.reset()
                return .done(unacknowledged: remaining)
            }
            // The last bytes may have been sent to go with the end of the stream, behind which the reset came.
            if pause == Parting.firstPause { receiver.pushHeldBack() }
            dropSome()
            defer { pause = min(pause * 2, Parting.longestPause) }
            return .waiting(min(deadline, now.advanced(byNanoseconds: pause)))
        case .close:
            if hasClosed() {
                receiver.close()
                return .done(unacknowledged: 0)
            }
            guard now >= deadline || dropped > dropLimit else { return .waiting(deadline) }
            // What is left unread makes a reset of the close, which throws away what the receiver hasn't acknowledged.
            let lost = receiver.receivable() > 0 ? receiver.unacknowledged() : 0
            receiver.close()
            return .done(unacknowledged: lost)
        }
    }

    /// Receives what the receiver sends before it is reset.
    private func dropSome() {
        for _ in 0..<Parting.roundLimit
        where receiver.isReadable && !hasSentAll {
            switch receiver.receive(limit: EventLoop.scratchCapacity) {
            case .received(let count): dropped += count
            case .wouldBlock: return
            case .ended, .failed: hasSentAll = true
            }
        }
    }

    private func hasClosed() -> Bool {
        while dropped <= dropLimit {
            guard receiver.isReadable else { return false }
            switch receiver.receive(limit: EventLoop.scratchCapacity) {
            case .received(let count): dropped += count
            case .wouldBlock: return false
            case .ended, .failed: return true
            }
        }
        return true
    }
}
