import Units

@testable import FaultPlan

/// A pump in virtual time that trusts no link: it checks every decision, and counts them.
///
/// Unlike `LinkSimulation` it may be late, and its sink may be slow or stuck.
struct Pump {
    /// The decisions after which a run is given up as a link that spins.
    static let decisionLimit = 1_000_000

    var link: Link
    var now: Moment
    let holdLimit: Int64
    /// Bytes waiting in front of the link; `nil` is a source that never runs dry.
    var waiting: Int64?
    /// How many of them the link sees at a time: the others follow as soon as those are taken.
    var window = Int64.max
    /// How the source ends behind them.
    var end: SourceEnd?
    /// What the sink takes at a time at most; 0 is a sink that is stuck.
    var sinkSize = Int64.max
    var readSize = Int64.max
    /// How the link ended.
    private(set) var ended: Ending?
    private(set) var decisions = 0
    /// The bytes that faults have put in, less those that they had vanish.
    private(set) var added: Int64 = 0
    private(set) var events: [FaultEvent] = []
    /// Every promise that the link broke.
    private(set) var violations: [String] = []

    init(_ link: Link, waiting: Int64? = 0, at now: Moment = .zero, holdLimit: ByteCount = Link.defaultHoldLimit) {
        self.link = link
        self.waiting = waiting
        self.now = now
        self.holdLimit = holdLimit.bytes
    }

    /// Moves what may move at `now`; returns when the link wants to be asked again.
    mutating func settle() -> Moment {
        var canSend = true
        while decisions <= Self.decisionLimit {
            switch ask(canSend: canSend) {
            case .send(let due):
                if sinkSize > 0 { link.bytesDelivered(min(due, sinkSize)) } else { canSend = false }
            case .receive(let limit):
                let readable = min(limit, waiting ?? .max, readSize, window)
                if readable > 0 { take(readable) }
                if waiting == 0, let end { link.sourceEnded(end) }
                if let before = waiting { waiting = before - readable }
            case .wait(let wake):
                check(wake > now, "asks to be asked again at once, though nothing can move")
                return wake
            case .end(let end):
                check(ended == nil, "ends twice")
                ended = end
                return .distantFuture
            }
        }
        return .distantFuture
    }

    /// Runs until `deadline`, each wake-up `lateness` nanoseconds late.
    mutating func run(until deadline: Moment, lateness: Int64 = 0) {
        while true {
            let wake = settle()
            let next = wake.advanced(byNanoseconds: wake == .distantFuture ? 0 : lateness)
            guard ended == nil, next <= deadline else { break }
            now = next
        }
        if ended == nil, deadline < .distantFuture {
            now = deadline
            _ = settle()
        }
    }

    private mutating func take(_ count: Int64) {
        let before = link.arrived
        link.bytesTaken(count, now: now)
        added += link.arrived - before - count
    }

    private mutating func ask(canSend: Bool) -> LinkStep {
        decisions += 1
        check(decisions <= Self.decisionLimit, "is asked for ever")
        let hasMore = waiting != 0 || end != nil && link.sourceEnd == nil
        let available = hasMore ? min(waiting ?? Link.uncounted, window) : nil
        let decision = link.decide(available: available ?? 0, now: now)
        events += link.takeEvents()
        check(decision.readLimit >= 0, "a negative read limit")
        check(decision.writeOffset >= link.delivered, "takes back what was delivered")
        check(decision.writeOffset <= link.arrived, "hands out what has not arrived")
        let isBounded = link.held + decision.readLimit <= max(holdLimit, link.held)
        check(isBounded || link.isDiscarding, "holds more than its limit")
        check(decision.end == nil || decision.writeOffset == link.delivered, "ends before its last byte")
        return link.step(after: decision, available: available, canSend: canSend, now: now)
    }

    private mutating func check(_ holds: Bool, _ promise: String) {
        if !holds, violations.count < 10 { violations.append("at \(now.nanoseconds) ns the link \(promise)") }
    }
}

/// Runs pumps side by side, each at its own wake-ups.
func runTogether(_ pumps: inout [Pump], until deadline: Moment, lateness: Int64 = 0) {
    var wakes = pumps.map(\.now)
    while let next = wakes.min(), next <= deadline, next < .distantFuture {
        let late = next.advanced(byNanoseconds: lateness)
        for index in pumps.indices where wakes[index] <= late {
            pumps[index].now = late
            wakes[index] = pumps[index].settle()
        }
    }
}
