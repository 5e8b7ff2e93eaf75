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
    /// fault of this identity, see `Plan.fault`.
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
///
/// Without faults it is a handful of numbers; all that only faults need is in memory of its own (`LinkFaults`).
public struct Link: Sendable {
    /// What `decide` is told when bytes wait in front of the link and nobody has counted them.
    public static let uncounted: Int64 = 1 << 40
    /// The bytes that a link holds at most if nothing else is said: 8 MiB.
    public static let defaultHoldLimit = ByteCount.mebibytes(8)
    /// What a position or a message that a fault remembers takes of that limit: 64 bytes.
    static let positionCost: Int64 = 64

    /// Bytes taken from the source.
    public private(set) var arrived: Int64 = 0
    /// Bytes handed to the sink.
    public private(set) var delivered: Int64 = 0
    /// Faults that acted and have not been taken yet.
    public private(set) var events: [FaultEvent] = []
    let holdLimit: Int64
    /// The faults, if there are any: one element or none. They are changed in place, without a count of references.
    var faults: ContiguousArray<LinkFaults> = []
    /// Whether one of the faults is a stage.
    private(set) var hasStages: Bool
    /// Which direction it is.
    public let direction: Direction
    /// Whether `decide` wants a count of the bytes that wait in front of the link; if not, any
    /// positive number (`uncounted`) stands for "some".
    public private(set) var measuresAvailability: Bool
    /// Whether the link takes bytes in before it may hand them over, as a delay does; if not, bytes are
    /// best left where they are until they may pass.
    public private(set) var takesAhead: Bool
    /// Whether bytes have left their sender when the link has taken them in, and only take time to arrive.
    private var delays: Bool
    /// Whether it counts when bytes came, and not only when they were taken: whoever knows tells by `noteArrival`.
    public private(set) var countsFromArrival: Bool
    /// Whether `nextAlteration` is to be asked about what is taken from the source.
    public private(set) var altersBytes: Bool
    /// Whether `decide` has handed out the end.
    public private(set) var isFinished = false
    /// Whether a fault holds whatever is left of the stream for good, its end included.
    public private(set) var isBlackholed = false
    /// Whether a fault let nothing pass when `decide` was last asked, and may do so later.
    public private(set) var isPaused = false
    private var sourceEnding = SourceEnding.none

    init(
        direction: Direction,
        slots: [Slot],
        alterSlots: [AlterSlot],
        messageFault: Int? = nil,
        schedule: Schedule,
        opened: Moment,
        holdLimit: ByteCount
    ) {
        self.direction = direction
        self.holdLimit = max(1, holdLimit.bytes)
        let traits = LinkTraits(slots)
        hasStages = !slots.isEmpty
        altersBytes = !alterSlots.isEmpty
        measuresAvailability = traits.measuresAvailability
        takesAhead = traits.takesAhead
        delays = traits.delays
        countsFromArrival = traits.countsFromArrival
        guard hasStages || altersBytes || messageFault != nil else { return }
        faults = [
            LinkFaults(
                slots: slots,
                alterSlots: alterSlots,
                messageFault: messageFault,
                schedule: schedule,
                opened: opened
            )
        ]
    }

    /// Has other stages from here on: `traits` is what they ask for.
    mutating func follow(_ traits: LinkTraits, hasStages: Bool, altersBytes: Bool) {
        self.hasStages = hasStages
        self.altersBytes = altersBytes
        measuresAvailability = traits.measuresAvailability
        takesAhead = traits.takesAhead
        delays = traits.delays
        countsFromArrival = traits.countsFromArrival
        // A fault that still holds all of the stream says so when it is asked next.
        isBlackholed = false
        isPaused = false
    }

    /// Whether no fault is on this link: every byte may pass at any time.
    public var isTransparent: Bool { !hasStages && !altersBytes }

    /// Whether nothing can happen, whatever the time is, before bytes or an end come: no stage has a say, no byte is
    /// held, and the source hasn't ended.
    public var isAtRest: Bool { !hasStages && arrived == delivered && sourceEnding == .none }

    /// How the source ended, once it has.
    public var sourceEnd: Ending? { sourceEnding.ending }

    /// Whether the link may hold another byte.
    public var hasRoom: Bool { room > 0 }

    /// The bytes that the link may take. What faults remember of the messages in it takes its share, so that short
    /// messages need no more memory than long ones.
    private var room: Int64 {
        guard takesAhead, held > 0 else { return holdLimit - held }
        return max(0, holdLimit - held - Int64(faults[0].rememberedPositions) * Link.positionCost)
    }

    /// Bytes taken from the source and not handed over yet.
    public var held: Int64 { arrived - delivered }

    /// What is to be done to the `count` bytes, more than 0, that were just taken from the source, before
    /// `bytesArrived` tells of those that are left; `nil` when nothing is.
    ///
    /// To be asked until it says `nil`, with the count that is left each time, and includes what was put in. The answers go
    /// through the bytes from the first to the last.
    public mutating func nextAlteration(of count: Int64, now: Moment) -> Alteration? {
        guard altersBytes else { return nil }
        return faults[0].nextAlteration(of: count, behind: arrived, now: now, &events)
    }

    /// `count` bytes, more than 0, were taken from the source by a simulation, which has no bytes to change: those
    /// that vanish are left out, and those that come in are counted.
    ///
    /// - Returns: what was done to them.
    @discardableResult
    public mutating func bytesTaken(_ count: Int64, now: Moment) -> [Alteration] {
        var left = count
        var alterations: [Alteration] = []
        while altersBytes, left > 0, let alteration = nextAlteration(of: left, now: now) {
            alterations.append(alteration)
            switch alteration {
            case .flip: break
            case .drop(_, let dropped): left -= dropped
            case .insert(_, let bytes): left += Int64(bytes.count)
            }
        }
        if left > 0 { bytesArrived(left) } else { bytesVanished() }
        return alterations
    }

    /// The messages that faults which change bytes remember: those among the bytes that come next.
    var rememberedMessages: Int { faults.isEmpty ? 0 : faults[0].rememberedMessages }

    /// The positions and messages that stages remember until they have passed.
    var rememberedPositions: Int { faults.isEmpty ? 0 : faults[0].rememberedPositions }

    /// The positions that wait for their bytes to arrive.
    var waitingMarks: Int { faults.isEmpty ? 0 : faults[0].waitingMarks }

    /// Tells of a position in the bytes that were just taken from the source, before `nextAlteration` and
    /// `bytesArrived` are told of those. Positions come in their order.
    public mutating func note(_ mark: Mark) {
        if !faults.isEmpty { faults[0].note(mark, behind: arrived, &events) }
    }

    /// `count` bytes, more than 0, were taken from the source.
    public mutating func bytesArrived(_ count: Int64) {
        precondition(sourceEnding == .none, "bytes can't arrive after the end of their stream")
        arrived += count
        if !faults.isEmpty { faults[0].takeMarks() }
    }

    /// Of the bytes that were just taken from the source none is left: `nextAlteration` had all of them vanish.
    public mutating func bytesVanished() {
        if !faults.isEmpty { faults[0].takeMarks() }
    }

    /// The bytes that `bytesArrived` has just told of, all of them, had come by `arrival`, and have waited to be taken
    /// since. A delay counts from there, unless a fault or the memory of the link made them wait. Without it bytes come
    /// when `decide` is asked next.
    public mutating func noteArrival(_ arrival: Moment) {
        if countsFromArrival { faults[0].noteArrival(arrival) }
    }

    /// Bytes are taken from `now` on; what had come before, has waited for something else than a delay.
    public mutating func begin(at now: Moment) {
        if countsFromArrival { faults[0].begin(at: now) }
    }

    /// The source has ended; its end is a position behind its last byte. A second end is ignored.
    public mutating func sourceEnded(_ ending: Ending) {
        if sourceEnding == .none { sourceEnding = SourceEnding(ending) }
    }

    /// `count` bytes were handed to the sink.
    public mutating func bytesDelivered(_ count: Int64) {
        delivered += count
        precondition(delivered <= arrived, "a link can't hand over more than it took")
    }

    /// The sink takes nothing at `now`, so that no byte moves before it does, and the link is not late when it is asked next.
    ///
    /// - Returns: the moment at which `decide` is to be asked even so, because a fault begins or ends.
    public mutating func sinkIsFull(at now: Moment) -> Moment {
        faults.isEmpty ? .distantFuture : faults[0].sinkIsFull(at: now)
    }

    /// The bytes that rates would have let pass, and didn't, because `decide` was asked later than a rate makes up for.
    public var lostBytes: Int64 { faults.isEmpty ? 0 : faults[0].lostBytes }

    /// Leaves out what only bytes show, for a forecast: where a write ends, and corruptions that the journal isn't told
    /// of. Slices then make up for pauses that they are asked about late. To be called before the first byte.
    public mutating func simplify() {
        if !faults.isEmpty { faults[0].simplify() }
    }

    /// How late after `now` `decide` may be asked on a simplified link, in nanoseconds, without more or less passing than
    /// if it were asked in time.
    public mutating func latenessAllowance(at now: Moment) -> Int64 {
        faults.isEmpty ? .max : faults[0].latenessAllowance(at: now)
    }

    /// What the faults have worked out so far beside the answers of `decide`, so that a forecast can end in time: losses,
    /// slices, and bytes to change.
    public mutating func work() -> Int { faults.isEmpty ? 0 : faults[0].work() }

    /// What may happen at `now`, with `available` bytes waiting in front of the link: their count, or
    /// `uncounted`; 0 is none. `now` never goes back.
    ///
    /// To be asked again after every `bytesArrived`, `bytesDelivered` and `sourceEnded`, when bytes
    /// have come to wait in front of the link, and at `Decision.wake`. The end of the source is no
    /// byte: it may be reported whatever `readLimit` is.
    public mutating func decide(available: Int64, now: Moment) -> Decision {
        if !hasStages || isFinished { return decideWithoutFaults() }
        let hasEnded = sourceEnding != .none
        let position = arrived + (hasEnded ? 1 : 0)
        let availableEnd = hasEnded ? position : position.addingSaturated(available)
        let progress = StreamProgress(position: position, availableEnd: availableEnd, hasEnded: hasEnded)
        let settled = delays ? min(arrived, faults[0].sentLimit) : delivered
        let passing = faults[0].advance(
            progress,
            hasRoom: hasRoom,
            delivered: delivered,
            settled: settled,
            now: now,
            &events
        )
        if passing.isBlackholed { isBlackholed = true }
        isPaused = passing.isPaused
        let endOffset = passing.stop ?? (hasEnded ? arrived : nil)
        let writeOffset = min(passing.progress.bytes, endOffset ?? .max, passing.writeLimit)
        let readLimit =
            endOffset == nil
            ? max(0, min((passing.readEnd ?? passing.progress.availableEnd) - arrived, room)) : 0
        let end = passing.progress.hasEnded && delivered == endOffset ? takeEnd() : nil
        return Decision(readLimit: readLimit, writeOffset: writeOffset, end: end, wake: passing.wake)
    }

    /// The faults that acted since this was last called, in the order in which they did.
    public mutating func takeEvents() -> [FaultEvent] {
        defer { events.removeAll(keepingCapacity: true) }
        return events
    }

    /// Gives back what the link shares with others. To be called once, when its connection is over.
    public mutating func close() {
        if !faults.isEmpty { faults[0].leave() }
    }

    private mutating func decideWithoutFaults() -> Decision {
        let hasEnded = sourceEnding != .none
        let readLimit = !hasEnded && !isFinished ? max(0, holdLimit - held) : 0
        let writeOffset = isFinished ? delivered : arrived
        let end = hasEnded && delivered == arrived ? takeEnd() : nil
        return Decision(readLimit: readLimit, writeOffset: writeOffset, end: end, wake: .distantFuture)
    }

    private mutating func takeEnd() -> Ending? {
        guard !isFinished else { return nil }
        isFinished = true
        guard hasStages, let (ending, event) = faults[0].stopped() else { return sourceEnd }
        events.append(event)
        return ending
    }
}

/// What the stages of a link ask for, taken together.
struct LinkTraits {
    let measuresAvailability: Bool
    let takesAhead: Bool
    let delays: Bool
    let countsFromArrival: Bool

    init(_ slots: [Link.Slot]) {
        measuresAvailability = slots.contains { $0.traits.measuresAvailability }
        takesAhead = slots.contains { $0.holds }
        delays = slots.contains { $0.holds && !$0.traits.isSender }
        countsFromArrival = slots.first { $0.holds }?.traits.countsFromArrival ?? false
    }
}

/// How the source of a link ended, in a byte.
private enum SourceEnding {
    case none
    case finish
    case reset
    case closed
    case aborted
    case silenced

    /// The end of a source, which is no answer to a request: only a fault on a link ends a stream in front of one.
    init(_ ending: Ending) {
        switch ending {
        case .finish: self = .finish
        case .reset: self = .reset
        case .cut(.close): self = .closed
        case .cut(.reset): self = .aborted
        case .cut(.silence): self = .silenced
        case .answer: preconditionFailure("a source doesn't end in front of a request that is answered")
        }
    }

    var ending: Ending? {
        switch self {
        case .none: nil
        case .finish: .finish
        case .reset: .reset
        case .closed: .cut(.close)
        case .aborted: .cut(.reset)
        case .silenced: .cut(.silence)
        }
    }
}
