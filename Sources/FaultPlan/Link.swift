import FaultProfile
import Units

/// How a stream ends: by itself, or by a cut.
public enum Ending: Hashable, Sendable {
    /// In order: FIN.
    case finish
    /// By a reset: RST.
    case reset
    /// By a cut of the profile; the connection is over in both directions.
    case cut(Cut.Ending)
}

/// What a link lets happen at a moment.
public struct Decision: Hashable, Sendable {
    /// How many more bytes may be taken from the source now.
    public var readLimit: Int64
    /// The offset up to which bytes may be handed to the sink.
    public var writeOffset: Int64
    /// Set, once in a link's life, when every byte before the end has been handed over and the end
    /// itself is due.
    public var end: Ending?
    /// When to ask again if nothing else happens; `distantFuture` when only an event can change the answer.
    public var wake: Moment
}

/// One direction of one connection: a queue of bytes, seen as positions, and the faults on it.
///
/// A link never sees a byte, a socket or a clock. Whoever moves the bytes tells it what came
/// (`bytesArrived`, `sourceEnded`) and what went (`bytesDelivered`), and asks it what may happen now
/// (`decide`). The same positions at the same moments give the same answers.
public struct Link {
    /// What `decide` is told when bytes wait in front of the link and nobody has counted them.
    public static let uncounted: Int64 = 1 << 40
    /// The bytes that a link holds at most if nothing else is said: 8 MiB.
    public static let defaultHoldLimit = ByteCount.mebibytes(8)

    /// One fault's stage and when it is on.
    struct Slot {
        let fault: Int
        let window: Window
        var stage: Stage
        var passed: Int64 = 0
    }

    /// Which direction it is.
    public let direction: Direction
    /// Bytes taken from the source.
    public private(set) var arrived: Int64 = 0
    /// Bytes handed to the sink.
    public private(set) var delivered: Int64 = 0
    /// Whether `decide` wants a count of the bytes that wait in front of the link; if not, any
    /// positive number (`uncounted`) stands for "some".
    public let measuresAvailability: Bool
    /// How the source ended, once it has.
    public private(set) var sourceEnd: Ending?
    /// Whether `decide` has handed out the end.
    public private(set) var isFinished = false
    /// Faults that struck and have not been taken yet.
    public private(set) var strikes: [Strike] = []

    private let opened: Moment
    private let schedule: Schedule
    private let holdLimit: Int64
    private var stretch: Schedule.Stretch
    private var slots: [Slot]
    private var cut: (offset: Int64, how: Cut.Ending, fault: Int)?

    init(direction: Direction, slots: [Slot], schedule: Schedule, opened: Moment, holdLimit: ByteCount) {
        self.direction = direction
        self.slots = slots
        self.schedule = schedule
        self.opened = opened
        self.holdLimit = max(1, holdLimit.bytes)
        measuresAvailability = slots.contains { $0.stage.measuresAvailability }
        stretch = schedule.stretch(at: opened)
    }

    /// Whether no fault is on this link: every byte may pass at any time.
    public var isTransparent: Bool { slots.isEmpty }

    /// Bytes taken from the source and not handed over yet.
    public var held: Int64 { arrived - delivered }

    /// `count` bytes, more than 0, were taken from the source.
    public mutating func bytesArrived(_ count: Int64) {
        precondition(sourceEnd == nil, "bytes can't arrive after the end of their stream")
        arrived += count
    }

    /// The source has ended; its end is a position behind its last byte. A second end is ignored.
    public mutating func sourceEnded(_ ending: Ending) {
        if sourceEnd == nil { sourceEnd = ending }
    }

    /// `count` bytes were handed to the sink.
    public mutating func bytesDelivered(_ count: Int64) {
        delivered += count
        precondition(delivered <= arrived, "a link can't hand over more than it took")
    }

    /// What may happen at `now`, with `available` bytes waiting in front of the link: their count, or
    /// `uncounted`; 0 is none. `now` never goes back.
    public mutating func decide(available: Int64, now: Moment) -> Decision {
        if slots.isEmpty { return decideWithoutFaults() }
        let position = arrived + (sourceEnd == nil ? 0 : 1)
        let horizon = sourceEnd == nil ? position + available : position
        var reach = Reach(position: position, horizon: horizon, hasEnded: sourceEnd != nil)
        var readHorizon: Int64?
        var wake = Moment.distantFuture
        if now >= stretch.end { stretch = schedule.stretch(at: now) }
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        for index in slots.indices {
            if readHorizon == nil, slots[index].stage.holds { readHorizon = reach.horizon }
            reach = advance(index, reach, age: age, now: now, wake: &wake)
        }
        if reach.position < horizon { wake = min(wake, nextWindowChange(after: now)) }

        let endOffset = cut?.offset ?? (sourceEnd == nil ? nil : arrived)
        let writeOffset = min(reach.bytes, endOffset ?? .max)
        var readLimit: Int64 = 0
        if endOffset == nil {
            readLimit = max(0, min((readHorizon ?? reach.horizon) - arrived, holdLimit - held))
        }
        let end = reach.hasEnded && delivered == endOffset ? takeEnd() : nil
        return Decision(readLimit: readLimit, writeOffset: writeOffset, end: end, wake: wake)
    }

    /// The faults that struck since this was last called, in the order in which they did.
    public mutating func takeStrikes() -> [Strike] {
        defer { strikes.removeAll(keepingCapacity: true) }
        return strikes
    }

    /// Gives back what the link shares with others. To be called once, when its connection is over.
    public mutating func close() {
        for index in slots.indices { slots[index].stage.leave() }
    }

    private mutating func decideWithoutFaults() -> Decision {
        let end = sourceEnd != nil && delivered == arrived ? takeEnd() : nil
        let readLimit = sourceEnd == nil ? max(0, holdLimit - held) : 0
        return Decision(readLimit: readLimit, writeOffset: arrived, end: end, wake: .distantFuture)
    }

    private mutating func advance(
        _ index: Int,
        _ reach: Reach,
        age: Int64,
        now: Moment,
        wake: inout Moment
    ) -> Reach {
        var visit = Visit(now: now, delivered: delivered)
        visit.isActive = slots[index].window.contains(age: age, currentPhase: stretch.phase)
        visit.passed = slots[index].passed
        let passing = slots[index].stage.advance(reach, &visit)
        slots[index].passed = passing.position
        wake = min(wake, visit.wake)
        if let ended = visit.cut, ended.offset < cut?.offset ?? .max {
            cut = (ended.offset, ended.how, slots[index].fault)
        }
        if let effect = visit.effect {
            strikes.append(Strike(fault: slots[index].fault, offset: offset(of: effect), effect: effect))
        }
        return passing
    }

    /// The offset that the journal is told: only where the profile's position decided, and not the clock.
    private func offset(of effect: Strike.Effect) -> Int64? {
        switch effect {
        case .stalls: delivered
        case .cuts: cut?.offset
        case .delays, .limits, .silences, .resets, .refuses: nil
        }
    }

    private mutating func takeEnd() -> Ending? {
        guard !isFinished else { return nil }
        isFinished = true
        guard let cut else { return sourceEnd }
        strikes.append(Strike(fault: cut.fault, offset: cut.offset, effect: .cuts(cut.how)))
        return .cut(cut.how)
    }

    private func nextWindowChange(after now: Moment) -> Moment {
        var next = Moment.distantFuture
        for slot in slots where !slot.window.isAlways {
            next = min(next, slot.window.nextChange(after: now, opened: opened, stretchEnd: stretch.end))
        }
        return next
    }
}
