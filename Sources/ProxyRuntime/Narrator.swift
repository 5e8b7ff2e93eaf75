import FaultPlan
import Journal
import OperatingSystem
import ProxyEngine
import Synchronization
import TerminalDisplay
import Units

/// Prints faults as they happen, one line each, on a terminal.
package final class Narrator: Sendable {
    private let lines = Console.Log()
    private let started: Moment
    private let quota = Mutex(JournalQuota())

    /// A narrator with times on the proxy's clock, which starts now by default.
    package init(clockStart: Moment? = nil) {
        started = clockStart ?? MonotonicClock.now
    }

    /// Prints a fault. That a stream isn't HTTP is no fault; `Warnings` has it.
    package func narrate(_ entry: JournalEntry) {
        if entry.effect.reason != nil { return }
        let (isTaken, omissions) = quota.withLock { $0.admit(entry) }
        let seconds = Formatting.signedSeconds(entry.moment - started)
        for omission in omissions {
            lines.write("\(seconds)  \(omission.proxy): \(omission.fault) acted \(omission.count) times more")
        }
        guard isTaken else { return }
        lines.write("\(seconds)  \(Narrator.sentence(entry))")
    }

    /// Waits until everything is written.
    package func finish() { lines.finish() }

    /// "connection 3, downstream: cut-2 resets at 65,536".
    package static func sentence(_ entry: JournalEntry) -> String {
        let connection = entry.connection.map { "connection \($0)" } ?? "\(entry.proxy)"
        let place = entry.direction.map { "\(connection), \($0.rawValue)" } ?? connection
        let offset = entry.offset.map { " at \(Formatting.grouped($0))" } ?? ""
        let base = entry.place.map { $0.base == .connection ? "" : " of the \($0.base.rawValue)" } ?? ""
        let request = entry.place.map { ", request \($0.request)" } ?? ""
        return "\(place)\(request): \(entry.fault) \(entry.effect.word)\(offset)\(base)"
    }
}

/// Prints problems of a proxy on standard error: the first of each kind immediately, then at most one per second, or per
/// minute where the problem is the machine's, with the number of suppressed ones.
package final class Warnings: Sendable {
    private struct Kind {
        var lastReported = Moment(nanoseconds: .min)
        var suppressed = 0
        /// The last event of the kind.
        var text = ""
    }

    private let kinds = Mutex<[String: Kind]>([:])

    /// Warnings of which none has been printed.
    package init() {}

    /// Prints `event`, unless its kind was printed less than its interval ago.
    package func report(_ event: ProxyEvent) {
        if let line = line(about: event, at: MonotonicClock.now) { Console.warn(line) }
    }

    /// The line about an event; `nil` if its kind was told less than its interval ago.
    func line(about event: ProxyEvent, at now: Moment) -> String? {
        let suppressed = kinds.withLock { kinds -> Int? in
            var kind = kinds[event.kind, default: Kind()]
            defer { kinds[event.kind] = kind }
            kind.text = "\(event)"
            guard now - kind.lastReported >= event.interval else {
                kind.suppressed += 1
                return nil
            }
            kind.lastReported = now
            defer { kind.suppressed = 0 }
            return kind.suppressed
        }
        guard let suppressed else { return nil }
        return suppressed == 0 ? "\(event)" : "\(event) \(Self.note(suppressed))"
    }

    /// Prints the number of suppressed events.
    package func finish() {
        let suppressed = kinds.withLock { kinds in
            defer { kinds = [:] }
            return kinds.values.filter { $0.suppressed > 0 }
        }
        for kind in suppressed {
            Console.warn("\(kind.text) \(Self.note(kind.suppressed))")
        }
    }

    private static func note(_ suppressed: Int) -> String {
        "(and \(suppressed == 1 ? "once" : "\(suppressed) times") more since it was last told)"
    }
}

extension ProxyEvent {
    /// The shortest time between two lines about the kind of event. A machine that is busy, or lacks descriptors, stays so.
    fileprivate var interval: Duration {
        switch self {
        case .late, .cannotAccept: .seconds(60)
        default: .seconds(1)
        }
    }

    /// The key by which events are throttled.
    fileprivate var kind: String {
        switch self {
        case .upstreamUnresolved(let endpoint, _): "name \(endpoint)"
        case .upstreamUnreachable(let endpoint, _): "upstream \(endpoint)"
        case .targetUnreachable: "target"
        case .targetForbidden: "forbidden"
        case .clientNotAllowed: "client"
        case .cannotAccept: "accept"
        case .answersByItself: "hang"
        case .connectionLimitReached: "limit"
        case .connectionFromItself, .upstreamLeadsBack: "ring"
        case .unacknowledgedAtReset: "reset"
        case .cannotListenAgain: "listen"
        case .streamUnread(let reason): "unread \(reason.rawValue)"
        case .clientsWithoutTLS: "without TLS"
        case .tls(_, let event): "tls \(event.sentence)"
        case .late: "late"
        }
    }
}
