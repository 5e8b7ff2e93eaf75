import EventLoop
import FaultPlan
import ProxyEngine
import Synchronization
import Units

/// Tells a person at a terminal what the proxy does to connections, a line each.
final class Narrator: Sendable {
    private let lines = Console.Log()
    private let started: Moment
    private let quota = Mutex(JournalQuota())

    /// A narrator whose times are those of the proxy's clock, which starts now if nothing else is said.
    init(clockStart: Moment? = nil) {
        started = clockStart ?? MonotonicClock.now
    }

    /// Tells of a fault that acted.
    func tell(_ entry: JournalEntry) {
        let (isTaken, omissions) = quota.withLock { $0.take(entry) }
        let seconds = Formatting.signedSeconds(entry.moment - started)
        for omission in omissions {
            lines.write("\(seconds)  \(omission.proxy): \(omission.fault) acted \(omission.count) times more")
        }
        guard isTaken else { return }
        lines.write("\(seconds)  \(Narrator.sentence(entry))")
    }

    /// Waits until everything told has been written.
    func finish() { lines.finish() }

    /// "connection 3, downstream: cut-2 resets at 65,536".
    static func sentence(_ entry: JournalEntry) -> String {
        let connection = entry.connection.map { "connection \($0)" } ?? "\(entry.proxy)"
        let place = entry.direction.map { "\(connection), \($0.rawValue)" } ?? connection
        let offset = entry.offset.map { " at \(Formatting.grouped($0))" } ?? ""
        let base = entry.place.map { $0.base == .connection ? "" : " of the \($0.base.rawValue)" } ?? ""
        let request = entry.place.map { ", request \($0.request)" } ?? ""
        let why = entry.effect.reason.map { " (\($0.rawValue))" } ?? ""
        return "\(place)\(request): \(entry.fault) \(entry.effect.word)\(offset)\(base)\(why)"
    }
}

/// Tells what goes wrong around a proxy on standard error: each kind of trouble at once, then at most once a
/// second, with the number of times that it was not told.
final class Warnings: Sendable {
    private struct Kind {
        var lastTold = Moment(nanoseconds: .min)
        var untold = 0
        /// The last event of the kind, in words.
        var text = ""
    }

    private let kinds = Mutex<[String: Kind]>([:])

    /// Tells of `event`, unless its kind was told of less than a second ago.
    func tell(_ event: ProxyEvent) {
        let now = MonotonicClock.now
        let untold = kinds.withLock { kinds -> Int? in
            var kind = kinds[event.kind, default: Kind()]
            defer { kinds[event.kind] = kind }
            kind.text = "\(event)"
            guard now - kind.lastTold >= .seconds(1) else {
                kind.untold += 1
                return nil
            }
            kind.lastTold = now
            defer { kind.untold = 0 }
            return kind.untold
        }
        guard let untold else { return }
        Console.warn(untold == 0 ? "\(event)" : "\(event) (and \(untold) times more since it was last told)")
    }

    /// Tells how often what was told last had happened again.
    func finish() {
        let untold = kinds.withLock { kinds in
            defer { kinds = [:] }
            return kinds.values.filter { $0.untold > 0 }
        }
        for kind in untold { Console.warn("\(kind.text) (and \(kind.untold) times more since it was last told)") }
    }
}

extension ProxyEvent {
    /// The word under which events of a kind are counted.
    fileprivate var kind: String {
        switch self {
        case .upstreamUnreachable(let endpoint, _): "upstream \(endpoint)"
        case .cannotAccept: "accept"
        case .answersByItself: "hang"
        case .connectionLimitReached: "limit"
        case .connectionFromItself, .upstreamLeadsBack: "ring"
        case .unacknowledgedAtReset: "reset"
        case .cannotListenAgain: "listen"
        case .late: "late"
        }
    }
}
