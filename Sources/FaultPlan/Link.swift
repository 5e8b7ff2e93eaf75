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
    /// In front of a request, by its number on the connection from 1, that is answered in the server's place by the
    /// fault of this index in `Plan.faults`.
    case answer(request: Int64, fault: Int)
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
public struct Link: Sendable {
    /// What `decide` is told when bytes wait in front of the link and nobody has counted them.
    public static let uncounted: Int64 = 1 << 40
    /// The bytes that a link holds at most if nothing else is said: 8 MiB.
    public static let defaultHoldLimit = ByteCount.mebibytes(8)

    /// One fault's stage and when it is on.
    struct Slot: Sendable {
        let fault: Int
        let window: Window
        var stage: Stage
        /// The messages that the fault is narrowed to, if any.
        var gate: MessageGate?
        /// How far the stream has come into the stage, and out of it.
        var entered: Int64 = 0
        var passed: Int64 = 0

        init(fault: Int, window: Window, stage: Stage, gate: MessageGate? = nil) {
            self.fault = fault
            self.window = window
            self.stage = stage
            self.gate = gate
        }
    }

    /// One fault that changes bytes, and when it is on.
    struct AlterSlot: Sendable {
        let fault: Int
        let window: Window
        var alterer: Alterer
        /// The messages that the fault is narrowed to, if any, in bytes of the source.
        var gate: MessageGate?
    }

    /// What the stages said in one round, beside how far the stream may come.
    private struct Outcome {
        var readHorizon: Int64?
        var writeLimit = Int64.max
        var wake = Moment.distantFuture
        var awaitsWindow = false
        var isSilent = false
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
    /// Whether a fault holds whatever is left of the stream for good, its end included.
    public private(set) var isDeaf = false
    /// Faults that struck and have not been taken yet.
    public private(set) var strikes: [Strike] = []

    private let opened: Moment
    private let schedule: Schedule
    private let holdLimit: Int64
    private var stretch: Schedule.Stretch
    private var slots: [Slot]
    private var alterSlots: [AlterSlot]
    private var stop: (offset: Int64, ending: Ending, fault: Int, place: MessageAim.Target?)?
    private var marks = MarkQueue()
    /// The first fault that acts on messages; `nil` where none does.
    private let messageFault: Int?

    init(
        direction: Direction,
        slots: [Slot],
        alterSlots: [AlterSlot],
        messageFault: Int? = nil,
        schedule: Schedule,
        opened: Moment,
        holdLimit: ByteCount
    ) {
        self.messageFault = messageFault
        self.alterSlots = alterSlots
        self.direction = direction
        self.slots = slots
        self.schedule = schedule
        self.opened = opened
        self.holdLimit = max(1, holdLimit.bytes)
        measuresAvailability = slots.contains { $0.stage.measuresAvailability }
        takesAhead = slots.contains { $0.stage.holds }
        stretch = schedule.stretch(at: opened)
    }

    /// Whether no fault is on this link: every byte may pass at any time.
    public var isTransparent: Bool { slots.isEmpty && alterSlots.isEmpty }

    /// Whether `nextAlteration` is to be asked about what is taken from the source.
    public var altersBytes: Bool { !alterSlots.isEmpty }

    /// Whether the link takes bytes in before it may hand them over, as a delay does; if not, bytes are
    /// best left where they are until they may pass.
    public let takesAhead: Bool
    /// Whether the link may hold another byte.
    public var hasRoom: Bool { held < holdLimit }

    /// Bytes taken from the source and not handed over yet.
    public var held: Int64 { arrived - delivered }

    /// What is to be done to the `count` bytes, more than 0, that were just taken from the source, before
    /// `bytesArrived` tells of those that are left; `nil` when nothing is.
    ///
    /// To be asked until it says `nil`, with the count that is left each time. The answers go through the bytes
    /// from the first to the last.
    public mutating func nextAlteration(of count: Int64, now: Moment) -> Alteration? {
        while true {
            var chosen = 0
            for index in alterSlots.indices.dropFirst()
            where alterSlots[index].alterer.next(vanished: marks.vanished)
                < alterSlots[chosen].alterer.next(vanished: marks.vanished)
            { chosen = index }
            let offset = alterSlots[chosen].alterer.next(vanished: marks.vanished)
            guard offset < arrived.addingSaturated(count) else { return nil }
            if now >= stretch.end { stretch = schedule.stretch(at: now) }
            let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
            let isPicked = alterSlots[chosen].gate?.state(at: offset + marks.vanished).isOn ?? true
            guard isPicked, offset >= arrived,
                alterSlots[chosen].window.contains(at: now, age: age, currentPhase: stretch.phase)
            else {
                alterSlots[chosen].alterer.miss()
                continue
            }
            let index = offset - arrived
            let (alteration, told) = alterSlots[chosen].alterer.alter(index: index, available: count - index)
            if case .drop(_, let dropped) = alteration { marks.bytesVanished(dropped, at: offset) }
            if let told {
                strikes.append(
                    Strike(
                        fault: alterSlots[chosen].fault,
                        offset: told.request == nil ? told.place?.offset ?? offset : nil,
                        place: told.place?.place ?? told.request,
                        effect: told.effect
                    )
                )
            }
            return alteration
        }
    }

    /// `count` bytes, more than 0, were taken from the source by a simulation, which has no bytes to change: those
    /// that vanish are left out.
    ///
    /// - Returns: what was done to them.
    @discardableResult
    public mutating func bytesTaken(_ count: Int64, now: Moment) -> [Alteration] {
        var left = count
        var alterations: [Alteration] = []
        while altersBytes, left > 0, let alteration = nextAlteration(of: left, now: now) {
            alterations.append(alteration)
            if case .drop(_, let dropped) = alteration { left -= dropped }
        }
        if left > 0 { bytesArrived(left) }
        return alterations
    }

    /// Tells of a position in the bytes that were just taken from the source, before `nextAlteration` and
    /// `bytesArrived` are told of those. Positions come in their order.
    public mutating func note(_ mark: Mark) {
        for index in alterSlots.indices {
            alterSlots[index].gate?.note(mark)
            alterSlots[index].alterer.note(mark)
        }
        marks.append(mark)
        if case .unreadable(let offset) = mark, let messageFault {
            strikes.append(Strike(fault: messageFault, offset: offset, effect: .isNoHTTP))
        }
    }

    /// `count` bytes, more than 0, were taken from the source.
    public mutating func bytesArrived(_ count: Int64) {
        precondition(sourceEnd == nil, "bytes can't arrive after the end of their stream")
        arrived += count
        while let mark = marks.next() {
            for index in slots.indices {
                slots[index].gate?.note(mark)
                slots[index].stage.note(mark)
            }
        }
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
    ///
    /// To be asked again after every `bytesArrived`, `bytesDelivered` and `sourceEnded`, when bytes
    /// have come to wait in front of the link, and at `Decision.wake`. The end of the source is no
    /// byte: it may be reported whatever `readLimit` is.
    public mutating func decide(available: Int64, now: Moment) -> Decision {
        if slots.isEmpty || isFinished { return decideWithoutFaults() }
        let position = arrived + (sourceEnd == nil ? 0 : 1)
        let horizon = sourceEnd == nil ? position.addingSaturated(available) : position
        var reach = Reach(position: position, horizon: horizon, hasEnded: sourceEnd != nil)
        var outcome = Outcome()
        if now >= stretch.end { stretch = schedule.stretch(at: now) }
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        for index in slots.indices {
            reach = advance(index, reach, age: age, now: now, &outcome)
        }
        let readHorizon = outcome.readHorizon ?? reach.horizon
        if outcome.isSilent { reach.clamp(to: delivered) }
        let furthest = min(horizon, stop.map { $0.offset + 1 } ?? .max)
        if reach.position < furthest || outcome.awaitsWindow {
            outcome.wake = min(outcome.wake, nextWindowChange(after: now))
        }

        let endOffset = stop?.offset ?? (sourceEnd == nil ? nil : arrived)
        let writeOffset = min(reach.bytes, endOffset ?? .max, outcome.writeLimit)
        let readLimit = endOffset == nil ? max(0, min(readHorizon - arrived, holdLimit - held)) : 0
        let end = reach.hasEnded && delivered == endOffset ? takeEnd() : nil
        return Decision(readLimit: readLimit, writeOffset: writeOffset, end: end, wake: outcome.wake)
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
        let readLimit = sourceEnd == nil && !isFinished ? max(0, holdLimit - held) : 0
        let writeOffset = isFinished ? delivered : arrived
        let end = sourceEnd != nil && delivered == arrived ? takeEnd() : nil
        return Decision(readLimit: readLimit, writeOffset: writeOffset, end: end, wake: .distantFuture)
    }

    private mutating func advance(
        _ index: Int,
        _ reach: Reach,
        age: Int64,
        now: Moment,
        _ outcome: inout Outcome
    ) -> Reach {
        guard slots[index].gate != nil else {
            return advanceOnce(index, reach, isPicked: true, age: age, now: now, &outcome)
        }
        // Where the stream comes to the end of a picked message, or to the start of one, the stage is asked once more.
        while true {
            let position = slots[index].stage.holds ? slots[index].entered : slots[index].passed
            let (isPicked, boundary) = slots[index].gate?.state(at: position) ?? (true, .max)
            var entering = reach
            entering.clamp(to: max(boundary, position))
            let passing = advanceOnce(index, entering, isPicked: isPicked, age: age, now: now, &outcome)
            slots[index].entered = entering.position
            let reached = slots[index].stage.holds ? entering.position : passing.position
            if reached < boundary || reach.horizon <= boundary { return passing }
        }
    }

    private mutating func advanceOnce(
        _ index: Int,
        _ reach: Reach,
        isPicked: Bool,
        age: Int64,
        now: Moment,
        _ outcome: inout Outcome
    ) -> Reach {
        var visit = Visit(now: now, delivered: delivered, settled: takesAhead ? arrived : delivered)
        visit.age = age
        visit.isActive = isPicked && slots[index].window.contains(at: now, age: age, currentPhase: stretch.phase)
        visit.passed = slots[index].passed
        let passing = slots[index].stage.advance(reach, &visit)
        slots[index].passed = passing.position
        if slots[index].stage.holds {
            // What the first such stage could take in, if all of them have room for it.
            outcome.readHorizon = min(outcome.readHorizon ?? reach.horizon, visit.takeLimit)
        }
        outcome.writeLimit = min(outcome.writeLimit, visit.writeLimit)
        outcome.wake = min(outcome.wake, visit.wake)
        outcome.awaitsWindow = outcome.awaitsWindow || visit.awaitsWindow
        outcome.isSilent = outcome.isSilent || visit.isSilent
        if visit.isDeaf { isDeaf = true }
        let fault = slots[index].fault
        if let ended = visit.cut, ended.offset < stop?.offset ?? .max {
            stop = (ended.offset, .cut(ended.how), fault, visit.effectPlace)
        }
        if let answer = visit.answer, answer.position < stop?.offset ?? .max {
            let place = MessagePlace(origin: .connection, request: answer.number)
            let target = MessageAim.Target(position: answer.position, offset: answer.position, place: place)
            stop = (answer.position, .answer(request: answer.number, fault: fault), fault, target)
        }
        if let effect = visit.effect {
            let place = visit.effectPlace
            let offset = place?.offset ?? visit.effectOffset
            strikes.append(Strike(fault: fault, offset: offset, place: place?.place, effect: effect))
        }
        return passing
    }

    private mutating func takeEnd() -> Ending? {
        guard !isFinished else { return nil }
        isFinished = true
        guard let stop else { return sourceEnd }
        let offset = stop.place?.offset ?? stop.offset
        switch stop.ending {
        case .cut(let how):
            strikes.append(Strike(fault: stop.fault, offset: offset, place: stop.place?.place, effect: .cuts(how)))
        case .answer:
            strikes.append(Strike(fault: stop.fault, offset: nil, place: stop.place?.place, effect: .answers))
        case .finish, .reset:
            preconditionFailure("a fault ends a stream by a cut, or in front of an answered request")
        }
        return stop.ending
    }

    private func nextWindowChange(after now: Moment) -> Moment {
        var next = Moment.distantFuture
        for slot in slots where !slot.window.isAlways {
            next = min(next, slot.window.nextChange(after: now, opened: opened, stretchEnd: stretch.end))
        }
        return next
    }
}
