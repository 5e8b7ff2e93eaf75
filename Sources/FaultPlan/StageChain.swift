import FaultProfile
import Units

/// The faults of one link and their state.
///
/// Everything is changed in place: asking a link copies, allocates and counts nothing.
struct StageChain: Sendable {
    /// Where and how a fault ends the stream.
    struct Stop {
        let offset: Int64
        let ending: Ending
        let fault: Int
        let place: MessageAim.Target?
        var hasOffset = true
    }

    let opened: Moment
    var spacing = WakeSpacing()
    /// How far bytes may have come after a virtual sender, as far as there is room.
    var sentLimit = Int64.max
    /// The bytes taken and delivered at the last call.
    private var lastMoved: Int64 = 0
    var schedule: Schedule
    var interval: Schedule.Interval
    var slots: [Link.Slot]
    var alterSlots: [Link.AlterSlot]
    var stop: Stop?
    var marks = MarkQueue()
    /// Where the last inserted bytes end, in bytes that the link takes.
    var insertedEnd: Int64 = 0
    /// The most bytes taken at once: 1 MiB. What faults hold back beyond it delays nothing.
    private static let largestReceive: Int64 = 1 << 20
    /// Whether one of the stages is a rate.
    var hasRates: Bool
    /// Whether one of the stages is off at times.
    var hasWindows: Bool
    /// Whether one of the stages is a delay that may fall.
    var hasFallingDelays: Bool
    /// How late a simplified link may be asked at any time, whether several uneven rates limit it further, and how far apart
    /// the delays of bytes may lie, which those that are asked for together share.
    var steadyAllowance = Int64.max
    var hasUnevenRates = false
    var delaySpread: Int64 = 0
    /// How late calls are.
    private var lateness = Lateness()
    /// Bytes that rates lost because calls came too late.
    private(set) var lostBytes: Int64 = 0
    /// Whether a fault closes the connection: in this call, or when the silence that holds it is over.
    var isClosing = false
    /// When a fault closes the connection, as of the last call.
    private var closeDue = Moment.distantFuture
    /// When the bytes that are new in the next call came, if known.
    var arrival: Moment?
    /// Since when bytes enter the delay line as they come, without waiting in front of it.
    var openSince: Moment
    private var isOpen = true
    /// The events of changed bytes that a fault may end the stream in front of, by their offsets in the link.
    var altered: [(offset: Int64, event: FaultEvent)] = []
    /// The work of looking for bytes to change, so far.
    var alterationsSought = 0
    /// When the next bytes to change were looked up; `nil` if that is to be done again.
    var alterationsLookedAt: Moment?
    /// The first fault that acts on messages, if any.
    var messageFault: Int?
    /// The flags of the link's faults that others come after, by identity.
    var flags: [Int: TriggerFlags.Flag]

    init(
        slots: [Link.Slot],
        alterSlots: [Link.AlterSlot],
        messageFault: Int?,
        plan: Plan,
        opened: Moment
    ) {
        self.slots = slots
        hasRates = slots.contains { $0.traits.isRate }
        hasWindows = slots.contains { !$0.isAlwaysOpen }
        hasFallingDelays = slots.contains { $0.mayFall }
        self.alterSlots = alterSlots
        self.messageFault = messageFault
        schedule = plan.schedule
        flags = plan.flags(of: slots.map(\.fault) + alterSlots.map(\.fault))
        self.opened = opened
        openSince = opened
        interval = schedule.interval(at: opened)
    }

    /// Has the faults that come after those of `events` on for connections accepted from now on.
    mutating func setFlags(of events: [FaultEvent]) {
        if flags.isEmpty { return }
        for event in events where event.effect.reason == nil { flags[event.fault]?.set() }
    }

    // MARK: Positions in the bytes

    /// The number of positions and messages that stages remember. Inlined, because a call copies the faults.
    @inline(__always) var rememberedPositions: Int {
        guard messageFault != nil else { return 0 }
        return slots.reduce(0) { $0 + $1.remembered }
    }

    mutating func note(_ mark: Mark, behind arrived: Int64, _ events: inout [FaultEvent]) {
        alterationsLookedAt = nil
        for index in alterSlots.indices {
            // Arrived bytes have been asked about.
            _ = alterSlots[index].pass(arrived + marks.vanished)
            alterSlots[index].gate?.note(mark)
            alterSlots[index].alterer.note(mark)
        }
        marks.append(mark)
        if case .unreadable(let offset, let why) = mark, let messageFault {
            events.append(FaultEvent(fault: messageFault, offset: offset, effect: .isNoHTTP(why)))
        }
    }

    /// Passes the marks to the stages, now that their bytes have arrived.
    mutating func takeMarks() {
        if marks.isEmpty { return }
        while let mark = marks.next() {
            for index in slots.indices { slots[index].note(mark) }
        }
    }

    // MARK: Stages

    /// Advances the stages from the source to the sink. `progress` is the stream in front of the first stage; `hasRoom`
    /// says whether the link may hold another byte.
    mutating func advance(
        _ progress: StreamProgress,
        hasRoom: Bool,
        delivered: Int64,
        settled: Int64,
        now: Moment,
        _ events: inout [FaultEvent]
    ) -> StageContext {
        if now >= interval.end { interval = schedule.interval(at: now) }
        let came = min(now, max(openSince, arrival ?? now))
        arrival = nil
        var context = StageContext(progress, now: now, arrival: came, delivered: delivered, settled: settled)
        context.time = time(at: now)
        context.waiting = progress.bytesAtAvailableEnd
        context.catchUp = lateness.ask(at: now.nanoseconds)
        if hasFallingDelays, let moment = standstill(at: now, context.time) {
            context.isStill = true
            context.wake(at: moment)
            context.progress.availableEnd = progress.position
        }
        let first = events.count
        for index in slots.indices {
            if slots[index].isIdle(at: context.progress) {
                if slots[index].holds { context.hold(context.progress.availableEnd, upTo: .max, isSender: false) }
            } else if slots[index].gate == nil {
                advance(index, context.progress, isSelected: true, &context, &events)
            } else {
                advanceByMessages(index, &context, &events)
            }
            if slots[index].holds { context.arrival = now }
        }
        if !altered.isEmpty { takeAltered(before: stop?.offset ?? .max, at: first, &events) }
        let readEnd = context.readEnd ?? context.progress.availableEnd
        context.readEnd = readEnd
        // The rates are told how far the link lets bytes come, if a stage holds some back.
        let settledEnd = min(readEnd, context.feed?.settledEnd(at: now) ?? .max)
        if hasRates, settledEnd < progress.availableEnd {
            for index in slots.indices where slots[index].traits.isRate {
                slots[index].stage.settle(at: settledEnd, now: now)
            }
        }
        lostBytes = lostBytes.addingSaturated(context.lostBytes)
        let wasOpen = isOpen
        let wanted = min(progress.availableEnd - progress.position, StageChain.largestReceive)
        isOpen = hasRoom && readEnd - progress.position >= wanted
        if !wasOpen || !isOpen { openSince = now }
        closeDue = context.closeDue
        if context.isPaused { context.progress.clamp(to: delivered) }
        let furthest = min(progress.availableEnd, stop.map { $0.offset + 1 } ?? .max)
        let moved = progress.position.addingSaturated(delivered)
        if moved != lastMoved {
            lastMoved = moved
            spacing.refresh()
        }
        if hasWindows, context.progress.position < furthest || context.needsWindowWake {
            let change = nextWindowChange(after: now)
            context.wake(at: spacing.wake(for: change, now: now))
        }
        lateness.wait(until: context.wake.nanoseconds)
        context.stop = stop?.offset
        context.isClosing = isClosing
        return context
    }

    /// See `Link.sinkIsFull`.
    mutating func sinkIsFull(at now: Moment) -> Moment {
        lateness.sinkIsFull()
        return hasWindows ? min(closeDue, spacing.wake(for: nextWindowChange(after: now), now: now)) : closeDue
    }

    /// How a fault ended the stream, and the event for the journal; `nil` if none did. An answer has none until it is given.
    func stopped() -> (ending: Ending, event: FaultEvent?)? {
        guard let stop else { return nil }
        let place = stop.place?.place
        let offset = stop.hasOffset ? stop.place?.offset ?? stop.offset : nil
        switch stop.ending {
        case .cut(let how):
            return (stop.ending, FaultEvent(fault: stop.fault, offset: offset, place: place, effect: .cuts(how)))
        case .alert:
            return (stop.ending, FaultEvent(fault: stop.fault, offset: offset, effect: .alerts))
        case .answer:
            return (stop.ending, nil)
        case .finish, .reset:
            preconditionFailure("a fault ends a stream by a cut, an alert, or in front of an answered request")
        }
    }

    /// Releases what the stages share with other links.
    mutating func leave() {
        for index in slots.indices { slots[index].stage.leave() }
    }

    /// Advances a stage of a fault narrowed to messages, once for each interval inside or outside a selected message.
    private mutating func advanceByMessages(_ index: Int, _ context: inout StageContext, _ events: inout [FaultEvent]) {
        let progress = context.progress
        if slots[index].traits.onlyBoundsWrites {
            let (isSelected, boundary) = slots[index].gate?.state(at: context.delivered) ?? (true, .max)
            context.limitWrites(to: boundary)
            return advance(index, progress, isSelected: isSelected, &context, &events)
        }
        let decidesOnEntry = slots[index].traits.decidesOnEntry
        while true {
            let position = decidesOnEntry ? slots[index].entered : slots[index].passed
            let (isSelected, boundary) = slots[index].gate?.state(at: position) ?? (true, .max)
            var entering = progress
            entering.clamp(to: max(boundary, position))
            advance(index, entering, isSelected: isSelected, &context, &events)
            slots[index].entered = entering.position
            let reached = decidesOnEntry ? entering.position : context.progress.position
            if reached < boundary || progress.availableEnd <= boundary { return }
        }
    }

    private mutating func advance(
        _ index: Int,
        _ progress: StreamProgress,
        isSelected: Bool,
        _ context: inout StageContext,
        _ events: inout [FaultEvent]
    ) {
        context.progress = slots[index].advance(progress, isSelected: isSelected, phase: interval.phase, &context)
        if slots[index].holds { hold(index, progress.availableEnd, &context) }
        if context.hasActed { take(&context, of: slots[index].fault, &events) }
    }

    /// Limits what is taken in by the room of a stage that holds bytes.
    private mutating func hold(_ index: Int, _ availableEnd: Int64, _ context: inout StageContext) {
        let isSender = slots[index].traits.isSender
        context.hold(availableEnd, upTo: context.takeLimit, isSender: isSender)
        if isSender {
            sentLimit = context.progress.availableEnd
        } else if sentLimit < .max {
            sentLimit = min(sentLimit, context.takeLimit)
        }
    }

    private mutating func take(_ context: inout StageContext, of fault: Int, _ events: inout [FaultEvent]) {
        if context.closes {
            isClosing = true
            stop = Stop(offset: context.delivered, ending: .cut(.close), fault: fault, place: nil, hasOffset: false)
        }
        if let ended = context.cut, ended.offset < stop?.offset ?? .max {
            stop = Stop(
                offset: ended.offset,
                ending: ended.ending,
                fault: fault,
                place: context.effectPlace,
                hasOffset: context.hasOffset
            )
        }
        if let answer = context.answer, answer.position < stop?.offset ?? .max {
            let ending = Ending.answer(request: answer.number, fault: fault)
            stop = Stop(offset: answer.position, ending: ending, fault: fault, place: nil)
        }
        if let effect = context.effect {
            let place = context.effectPlace
            let offset = place?.offset ?? context.effectOffset
            events.append(FaultEvent(fault: fault, offset: offset, place: place?.place, effect: effect))
        }
        context.forgetEvent()
    }

    private func nextWindowChange(after now: Moment) -> Moment {
        var next = Moment.distantFuture
        for index in slots.indices where !slots[index].isAlwaysOpen {
            let change = slots[index].window.nextChange(after: now, opened: opened, interval: interval)
            next = min(next, change)
        }
        return next
    }
}
