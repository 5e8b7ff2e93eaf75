import FaultProfile
import Units

/// The faults of one link, and what they have come to.
///
/// Stages and all else are changed where they are: nothing is copied, allocated or counted when a link is asked.
struct LinkFaults: Sendable {
    private let opened: Moment
    var spacing = WakeSpacing()
    /// How far bytes may have come behind a sender on a lossy path, as far as there is room.
    var sentLimit = Int64.max
    /// The bytes that had come and gone when it was last asked.
    private var lastMoved: Int64 = 0
    var schedule: Schedule
    var interval: Schedule.Interval
    var slots: [Link.Slot]
    var alterSlots: [Link.AlterSlot]
    var stop: (offset: Int64, ending: Ending, fault: Int, place: MessageAim.Target?)?
    private(set) var marks = MarkQueue()
    /// Where the bytes that were put into the stream last end, among those that the link takes.
    private var insertedEnd: Int64 = 0
    /// More is never taken at once, so what faults hold back behind it holds nobody up: 1 MiB.
    private static let largestReceive: Int64 = 1 << 20
    /// Whether one of the stages is a rate.
    var hasRates: Bool
    /// Whether one of the stages is off at times.
    var hasWindows: Bool
    /// How late a simplified link may be asked at any moment, and whether other bounds come and go, because the evenness
    /// of a rate matters to another.
    private var steadyAllowance = Int64.max
    private var hasUnevenRates = false
    /// How late the link is asked.
    private var lateness = Lateness()
    /// The bytes of rates that were due and are lost, because the link was asked too late.
    private(set) var lostBytes: Int64 = 0
    /// When the bytes that are new came, if somebody knows.
    private var arrival: Moment?
    /// Since when bytes that come are let into the delay line at once; before, they may have waited in front of it.
    private var openSince: Moment
    private var isOpen = true
    /// The looks for bytes to change so far, each with what it cost.
    private var alterationsSought = 0
    /// When it was looked where bytes are to be changed next; `nil` when that has to be done again.
    var alterationsLookedAt: Moment?
    /// The first fault that acts on messages; `nil` where none does.
    var messageFault: Int?

    init(
        slots: [Link.Slot],
        alterSlots: [Link.AlterSlot],
        messageFault: Int?,
        schedule: Schedule,
        opened: Moment
    ) {
        self.slots = slots
        hasRates = slots.contains { $0.traits.isRate }
        hasWindows = slots.contains { !$0.isAlwaysOpen }
        self.alterSlots = alterSlots
        self.messageFault = messageFault
        self.schedule = schedule
        self.opened = opened
        openSince = opened
        interval = schedule.interval(at: opened)
    }

    // MARK: Bytes that change

    /// What is to be done to the `count` bytes that come behind `arrived` others, see `Link.nextAlteration`.
    mutating func nextAlteration(
        of count: Int64,
        behind arrived: Int64,
        now: Moment,
        _ events: inout [FaultEvent]
    ) -> Alteration? {
        if now >= interval.end { interval = schedule.interval(at: now) }
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        let end = arrived.addingSaturated(count)
        lookForAlterations(at: now, age: age)
        while true {
            alterationsSought += 1 + alterSlots.count / 4
            let (chosen, offset) = firstAlterer()
            guard alterSlots[chosen].isReached(by: end) else {
                for index in alterSlots.indices where alterSlots[index].isSparing {
                    alterSlots[index].alterer.spare(before: end)
                }
                return nil
            }
            // What was put in has no place of its own in the source.
            let inserted = max(0, insertedEnd - offset)
            let position = offset + inserted + marks.vanished
            let (isSelected, boundary) = alterSlots[chosen].gate?.state(at: position) ?? (true, .max)
            guard isSelected, offset >= arrived,
                alterSlots[chosen].window.contains(at: now, age: age, currentPhase: interval.phase)
            else {
                let until = isSelected ? max(arrived, offset + 1) : min(end, boundary - marks.vanished)
                miss(chosen, before: until)
                continue
            }
            let index = offset - arrived
            let available = min(count - index, (boundary - position).addingSaturated(inserted))
            let altered = alterSlots[chosen].alterer.alter(index: index, available: available)
            switch altered.alteration {
            case .flip:
                alterSlots[chosen].lookUpNext(vanished: marks.vanished)
            case .drop(_, let dropped):
                vanish(dropped, at: offset, by: chosen)
            case .insert(_, let bytes):
                marks.bytesInserted(Int64(bytes.count), at: position)
                insertedEnd = offset + inserted + Int64(bytes.count)
                for index in alterSlots.indices { alterSlots[index].lookUpNext(vanished: marks.vanished) }
            }
            if let told = altered.told {
                events.append(
                    FaultEvent(
                        fault: alterSlots[chosen].fault,
                        offset: told.request == nil ? told.place?.offset ?? offset : nil,
                        place: told.place?.place ?? told.request,
                        effect: told.effect
                    )
                )
            }
            return altered.alteration
        }
    }

    /// `count` bytes behind `offset` vanish by a fault: first what was put in there, and then bytes of the source.
    private mutating func vanish(_ count: Int64, at offset: Int64, by chosen: Int) {
        let inserted = min(count, max(0, insertedEnd - offset))
        if inserted > 0 {
            marks.insertedVanished(inserted)
            insertedEnd -= inserted
        }
        if count > inserted { marks.bytesVanished(count - inserted, at: max(offset, insertedEnd)) }
        let start = max(offset, insertedEnd) + marks.vanished - (count - inserted)
        for index in alterSlots.indices {
            if index != chosen { alterSlots[index].alterer.vanished(start..<start + count - inserted) }
            alterSlots[index].lookUpNext(vanished: marks.vanished)
        }
    }

    /// Looks where each fault acts next, unless that was done at `now` and no mark has come since.
    private mutating func lookForAlterations(at now: Moment, age: Int64) {
        guard alterationsLookedAt != now else { return }
        alterationsLookedAt = now
        for index in alterSlots.indices {
            alterSlots[index].look(at: now, age: age, phase: interval.phase, vanished: marks.vanished)
        }
    }

    /// The fault that changes the first byte, and the offset of that; beyond all others where none does.
    private func firstAlterer() -> (index: Int, offset: Int64) {
        var (chosen, offset) = (0, Int64.max)
        for index in alterSlots.indices where alterSlots[index].next <= offset {
            let next = alterSlots[index].next
            // A byte that vanishes isn't changed before.
            let isFirst = next == offset && alterSlots[index].order < alterSlots[chosen].order
            if next < offset || isFirst { (chosen, offset) = (index, next) }
        }
        return (chosen, offset)
    }

    /// The next byte of a fault isn't one that it changes; with a rate, none before `offset` is.
    private mutating func miss(_ index: Int, before offset: Int64) {
        if alterSlots[index].hasRate {
            alterSlots[index].alterer.spare(before: offset)
            alterSlots[index].alterer.skipSpared()
        } else {
            alterSlots[index].alterer.miss()
        }
        alterSlots[index].lookUpNext(vanished: marks.vanished)
    }

    // MARK: Positions in the bytes

    /// The messages that faults which change bytes remember.
    var rememberedMessages: Int { alterSlots.reduce(0) { $0 + ($1.gate?.count ?? 0) } }

    /// The positions that wait for their bytes to arrive.
    var waitingMarks: Int { marks.waiting }

    /// The positions and messages that stages remember until they have passed.
    var rememberedPositions: Int {
        guard messageFault != nil else { return 0 }
        return slots.reduce(0) { $0 + $1.remembered }
    }

    mutating func note(_ mark: Mark, behind arrived: Int64, _ events: inout [FaultEvent]) {
        alterationsLookedAt = nil
        for index in alterSlots.indices {
            // What has arrived was asked about, if at all.
            alterSlots[index].gate?.pass(arrived + marks.vanished)
            alterSlots[index].gate?.note(mark)
            alterSlots[index].alterer.note(mark)
        }
        marks.append(mark)
        if case .unreadable(let offset, let why) = mark, let messageFault {
            events.append(FaultEvent(fault: messageFault, offset: offset, effect: .isNoHTTP(why)))
        }
    }

    /// The bytes that the marks tell of have arrived.
    mutating func takeMarks() {
        if marks.isEmpty { return }
        while let mark = marks.next() {
            for index in slots.indices { slots[index].note(mark) }
        }
    }

    // MARK: Forecasts

    /// See `Link.simplify`.
    mutating func simplify() {
        let paced = slots.count { $0.traits.isPaced }
        steadyAllowance = .max
        for index in slots.indices {
            steadyAllowance = min(steadyAllowance, slots[index].stage.simplify(isBesideRate: paced > 0))
        }
        for index in alterSlots.indices { alterSlots[index].alterer.simplify() }
        hasUnevenRates = paced > 1
    }

    /// See `Link.latenessAllowance`.
    mutating func latenessAllowance(at now: Moment) -> Int64 {
        guard hasUnevenRates else { return steadyAllowance }
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        return slots.indices.reduce(steadyAllowance) { min($0, slots[$1].stage.evenness(after: now, age: age)) }
    }

    /// See `Link.work`.
    mutating func work() -> Int {
        let sought = alterSlots.indices.reduce(alterationsSought) { $0 + alterSlots[$1].alterer.work() }
        return slots.indices.reduce(sought) { $0 + slots[$1].stage.work() }
    }

    // MARK: Stages

    /// Lets nothing have come before `now`.
    mutating func begin(at now: Moment) { openSince = now }

    /// Tells when the bytes came that are new in the next round.
    mutating func noteArrival(_ arrival: Moment) { self.arrival = arrival }

    /// Advances the stages, from the source to the sink. `progress` is the stream in front of the first; `hasRoom`, whether
    /// the link may hold another byte.
    mutating func advance(
        _ progress: StreamProgress,
        hasRoom: Bool,
        delivered: Int64,
        settled: Int64,
        now: Moment,
        _ events: inout [FaultEvent]
    ) -> LinkProgress {
        if now >= interval.end { interval = schedule.interval(at: now) }
        let came = min(now, max(openSince, arrival ?? now))
        arrival = nil
        var context = StageContext(now: now, arrival: came, delivered: delivered, settled: settled)
        context.age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        context.waiting = progress.bytesAtAvailableEnd
        context.catchUp = lateness.ask(at: now.nanoseconds)
        var passing = LinkProgress(progress)
        for index in slots.indices {
            if slots[index].isIdle(at: passing.progress) {
                if slots[index].holds { passing.take(passing.progress.availableEnd, upTo: .max, isSender: false) }
            } else if slots[index].gate == nil {
                advance(index, passing.progress, isSelected: true, &context, &passing, &events)
            } else {
                advanceByMessages(index, &context, &passing, &events)
            }
            if slots[index].holds { context.arrival = now }
        }
        passing.readEnd = passing.readEnd ?? passing.progress.availableEnd
        if hasRates { settleRates(progress, passing, now: now) }
        lostBytes = lostBytes.addingSaturated(context.lostBytes)
        let wasOpen = isOpen
        let wanted = min(progress.availableEnd - progress.position, LinkFaults.largestReceive)
        isOpen = hasRoom && (passing.readEnd ?? 0) - progress.position >= wanted
        if !wasOpen || !isOpen { openSince = now }
        passing.writeLimit = context.writeLimit
        passing.wake = context.wake
        passing.isBlackholed = context.isBlackholed
        passing.isPaused = context.isPaused
        if context.isPaused { passing.progress.clamp(to: delivered) }
        passing.stop = stop?.offset
        let furthest = min(progress.availableEnd, passing.stop.map { $0 + 1 } ?? .max)
        let moved = progress.position.addingSaturated(delivered)
        if moved != lastMoved {
            lastMoved = moved
            spacing.refresh()
        }
        if hasWindows, passing.progress.position < furthest || context.needsWindowWake {
            let change = nextWindowChange(after: now)
            passing.wake = min(passing.wake, spacing.wake(for: change, now: now))
        }
        lateness.wait(until: passing.wake.nanoseconds)
        return passing
    }

    /// See `Link.sinkIsFull`.
    mutating func sinkIsFull(at now: Moment) -> Moment {
        lateness.sinkIsFull()
        return hasWindows ? spacing.wake(for: nextWindowChange(after: now), now: now) : .distantFuture
    }

    /// Tells the rates how far the link lets bytes come, if one of its stages holds some back.
    private mutating func settleRates(_ progress: StreamProgress, _ passing: LinkProgress, now: Moment) {
        let availableEnd = passing.readEnd ?? passing.progress.availableEnd
        guard availableEnd < progress.availableEnd else { return }
        for index in slots.indices where slots[index].traits.isRate {
            slots[index].stage.settle(at: availableEnd, now: now)
        }
    }

    /// How a fault ended the stream, if one did, and what the journal is told.
    func stopped() -> (ending: Ending, event: FaultEvent)? {
        guard let stop else { return nil }
        let place = stop.place?.place
        switch stop.ending {
        case .cut(let how):
            let offset = stop.place?.offset ?? stop.offset
            return (stop.ending, FaultEvent(fault: stop.fault, offset: offset, place: place, effect: .cuts(how)))
        case .answer:
            return (stop.ending, FaultEvent(fault: stop.fault, offset: nil, place: place, effect: .answers))
        case .finish, .reset:
            preconditionFailure("a fault ends a stream by a cut, or in front of an answered request")
        }
    }

    /// Gives back what the stages share with other links.
    mutating func leave() {
        for index in slots.indices { slots[index].stage.leave() }
    }

    /// Asks a stage whose fault is narrowed to messages: where the stream comes to the end of a picked message, or to
    /// the start of one, once more.
    private mutating func advanceByMessages(
        _ index: Int,
        _ context: inout StageContext,
        _ passing: inout LinkProgress,
        _ events: inout [FaultEvent]
    ) {
        let progress = passing.progress
        if slots[index].traits.onlyBoundsWrites {
            let (isSelected, boundary) = slots[index].gate?.state(at: context.delivered) ?? (true, .max)
            context.limitWrites(to: boundary)
            return advance(index, progress, isSelected: isSelected, &context, &passing, &events)
        }
        let decidesOnEntry = slots[index].traits.decidesOnEntry
        while true {
            let position = decidesOnEntry ? slots[index].entered : slots[index].passed
            let (isSelected, boundary) = slots[index].gate?.state(at: position) ?? (true, .max)
            var entering = progress
            entering.clamp(to: max(boundary, position))
            advance(index, entering, isSelected: isSelected, &context, &passing, &events)
            slots[index].entered = entering.position
            let reached = decidesOnEntry ? entering.position : passing.progress.position
            if reached < boundary || progress.availableEnd <= boundary { return }
        }
    }

    private mutating func advance(
        _ index: Int,
        _ progress: StreamProgress,
        isSelected: Bool,
        _ context: inout StageContext,
        _ passing: inout LinkProgress,
        _ events: inout [FaultEvent]
    ) {
        passing.progress = slots[index].advance(progress, isSelected: isSelected, phase: interval.phase, &context)
        if slots[index].holds { hold(index, progress, upTo: context.takeLimit, &passing) }
        if context.hasActed { take(&context, of: slots[index].fault, &events) }
    }

    /// Bounds what is taken in by what a stage that holds bytes has room for.
    private mutating func hold(
        _ index: Int,
        _ progress: StreamProgress,
        upTo limit: Int64,
        _ passing: inout LinkProgress
    ) {
        let isSender = slots[index].traits.isSender
        passing.take(progress.availableEnd, upTo: limit, isSender: isSender)
        if isSender {
            sentLimit = passing.progress.availableEnd
        } else if sentLimit < .max {
            sentLimit = min(sentLimit, limit)
        }
    }

    /// Keeps what a stage did.
    private mutating func take(_ context: inout StageContext, of fault: Int, _ events: inout [FaultEvent]) {
        if let ended = context.cut, ended.offset < stop?.offset ?? .max {
            stop = (ended.offset, .cut(ended.how), fault, context.effectPlace)
        }
        if let answer = context.answer, answer.position < stop?.offset ?? .max {
            let place = MessagePlace(base: .connection, request: answer.number)
            let target = MessageAim.Target(position: answer.position, offset: answer.position, place: place)
            stop = (answer.position, .answer(request: answer.number, fault: fault), fault, target)
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
