import FaultProfile
import Units

/// How a source ends.
public enum SourceEnd: Sendable {
    /// An orderly end: FIN.
    case finish
    /// A reset: RST.
    case reset
}

/// How a stream ends.
public enum Ending: Hashable, Sendable {
    /// An orderly end: FIN.
    case finish
    /// A reset: RST.
    case reset
    /// A cut by a fault, which ends the connection in both directions.
    case cut(Cut.Ending)
    /// An alert of TLS to the client, and then both directions end in order.
    case alert(TLSAlertName)
    /// The proxy is to answer a request in the server's place: its number on the connection, from 1, and the identity of the
    /// fault, see `Plan.fault`. Its event is `FaultEvent.answer`, once the answer is given.
    case answer(request: Int64, fault: Int)
}

/// What a link permits at a moment.
struct Decision: Hashable {
    /// The bytes that may be taken from the source now.
    var readLimit: Int64
    /// The offset up to which bytes may be delivered to the sink.
    var writeOffset: Int64
    /// Set once in a link's life: all bytes have been delivered and the end is due.
    var end: Ending?
    /// When to ask again if nothing happens; `distantFuture` if only an event can change the answer.
    var wake: Moment
}

/// One direction of one connection: a queue of bytes, seen as positions, and the faults on it.
///
/// A link never sees a byte, a socket or a clock. Its driver asks for the next step (`next`), carries it out, and reports what
/// came (`bytesArrived`, `sourceEnded`) and what went (`bytesDelivered`). The same positions at the same moments give the same
/// steps.
///
/// Without faults a link is a few numbers; the state of faults is allocated apart (`StageChain`).
public struct Link: Sendable {
    /// Passed to `next` when an unknown number of bytes waits in front of the link.
    public static let uncounted: Int64 = 1 << 40
    /// The default limit of held bytes: 8 MiB.
    public static let defaultHoldLimit = ByteCount.mebibytes(8)
    /// What a remembered position or message takes of that limit: 64 bytes.
    static let positionCost: Int64 = 64

    /// Bytes taken from the source.
    public private(set) var arrived: Int64 = 0
    /// Bytes delivered to the sink.
    public private(set) var delivered: Int64 = 0
    /// Fault events that haven't been taken yet.
    public internal(set) var events: [FaultEvent] = []
    let holdLimit: Int64
    /// The faults: one element or none, so that they are changed in place without reference counting.
    var faults: ContiguousArray<StageChain> = []
    /// Whether one of the faults is a stage.
    private(set) var hasStages: Bool
    private var traits: LinkTraits
    /// The direction of the link.
    public let direction: Direction
    /// Whether `next` needs the number of waiting bytes; if not, `uncounted` stands for "some".
    public var measuresAvailability: Bool { traits.measuresAvailability }
    /// Whether the link takes bytes in before they may leave, as a delay does; if not, bytes are best left with the
    /// source until they may pass.
    public var takesAhead: Bool { traits.takesAhead }
    /// Whether arrival times matter, see `bytesArrived`.
    public var countsFromArrival: Bool { traits.countsFromArrival }
    /// Whether `nextAlteration` must be called for bytes taken from the source.
    public private(set) var altersBytes: Bool
    /// Whether faults act on messages, which are remembered.
    private var remembersPositions: Bool
    /// Whether `next` has returned the end.
    public private(set) var isFinished = false
    /// Whether a fault holds the rest of the stream for good, including its end.
    public private(set) var isBlackholed = false
    /// Whether a fault drops what is taken from the source now, so that the source needn't wait for the sink.
    private(set) var isDiscarding = false
    /// Whether a fault let nothing pass at the last step, but may later.
    public private(set) var isPaused = false
    /// How the source ended, if it has.
    public private(set) var sourceEnd: SourceEnd?

    init(
        direction: Direction,
        slots: [Slot],
        alterSlots: [AlterSlot],
        messageFault: Int? = nil,
        plan: Plan,
        opened: Moment
    ) {
        self.direction = direction
        holdLimit = max(1, plan.holdLimit.bytes)
        traits = LinkTraits(slots)
        hasStages = !slots.isEmpty
        altersBytes = !alterSlots.isEmpty
        remembersPositions = messageFault != nil
        guard hasStages || altersBytes || messageFault != nil else { return }
        faults = [
            StageChain(
                slots: slots,
                alterSlots: alterSlots,
                messageFault: messageFault,
                plan: plan,
                opened: opened
            )
        ]
    }

    mutating func apply(_ traits: LinkTraits, hasStages: Bool, altersBytes: Bool, remembersPositions: Bool) {
        self.remembersPositions = remembersPositions
        self.hasStages = hasStages
        self.altersBytes = altersBytes
        self.traits = traits
        // A fault that still holds the stream says so at the next call.
        isBlackholed = false
        isPaused = false
        isDiscarding = false
    }

    /// Whether the link has no fault, so every byte may pass at any time.
    public var isTransparent: Bool { !hasStages && !altersBytes }

    /// Whether the link may hold another byte.
    public var hasRoom: Bool { room > 0 }

    /// The bytes that the link may take. Remembered messages take their share, so that many short messages need no
    /// more memory than a long one.
    private var room: Int64 {
        guard takesAhead, remembersPositions, held > 0 else { return holdLimit - held }
        return max(0, holdLimit - held - Int64(faults[0].rememberedPositions) * Link.positionCost)
    }

    /// Bytes taken from the source and not yet delivered.
    public var held: Int64 { arrived - delivered }

    /// Source bytes that were delivered or that faults removed.
    public var passed: Int64 { taken - held }

    /// Whether bytes or a reset are still due to the sink, so that an orderly end would be wrong. `available` bytes wait in
    /// front of the link.
    public func isIncomplete(available: Int) -> Bool {
        if isFinished { return false }
        guard !faults.isEmpty, let stop = faults[0].stop else {
            return held > 0 || available > 0 || sourceEnd == .reset
        }
        return delivered < stop.offset || stop.ending == .cut(.reset)
    }

    /// The next change to the `count` bytes, above 0, that were just taken from the source; `nil` if there is none.
    ///
    /// To be called before `bytesArrived`, until it returns `nil`, each time with the remaining count, including inserted
    /// bytes. The changes are in the order of the bytes.
    public mutating func nextAlteration(of count: Int64, now: Moment) -> Alteration? {
        guard altersBytes else { return nil }
        return faults[0].nextAlteration(of: count, behind: arrived, now: now, &events)
    }

    /// Takes `count` bytes, above 0, in a simulation, which has no bytes to change: removed bytes are subtracted and
    /// inserted ones added.
    ///
    /// - Returns: the changes.
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
        bytesArrived(left)
        return alterations
    }

    /// Notes a position in the bytes that were just taken from the source. Called before `nextAlteration` and
    /// `bytesArrived`, in the order of positions.
    public mutating func note(_ mark: Mark) {
        if !faults.isEmpty { faults[0].note(mark, behind: arrived, &events) }
    }

    /// Notes that `count` bytes were taken from the source; 0 if `nextAlteration` removed all of them.
    ///
    /// - Parameters:
    ///   - count: the bytes that are left, inserted ones included.
    ///   - arrival: by when they had come. A delay counts from there, unless a fault or a full link made them wait; `nil` for
    ///     the time of the next step.
    public mutating func bytesArrived(_ count: Int64, at arrival: Moment? = nil) {
        precondition(sourceEnd == nil, "bytes can't arrive after the end of their stream")
        arrived += count
        guard !faults.isEmpty else { return }
        faults[0].takeMarks()
        if let arrival, countsFromArrival { faults[0].arrival = arrival }
    }

    /// Notes that bytes are taken from `now` on; a delay doesn't count from before.
    public mutating func begin(at now: Moment) {
        if countsFromArrival { faults[0].openSince = now }
    }

    /// Notes the end of the source, a position after its last byte. A second end is ignored.
    public mutating func sourceEnded(_ end: SourceEnd) {
        if sourceEnd == nil { sourceEnd = end }
    }

    /// Notes that `count` bytes were delivered to the sink.
    public mutating func bytesDelivered(_ count: Int64) {
        delivered += count
        precondition(delivered <= arrived, "a link can't hand over more than it took")
    }

    /// The sink takes nothing at `now`. No byte moves before it does, so the next call isn't late.
    ///
    /// - Returns: the time at which the link must be asked even so, because a fault begins or ends.
    mutating func sinkIsFull(at now: Moment) -> Moment {
        faults.isEmpty ? .distantFuture : faults[0].sinkIsFull(at: now)
    }

    /// The bytes that rates lost because `next` was called later than they catch up on.
    public var lostBytes: Int64 { faults.isEmpty ? 0 : faults[0].lostBytes }

    /// Omits effects that only show in the bytes, for a forecast: the ends of writes, and corruptions beyond the
    /// journal's limit. Slices without another stage then catch up on pauses. Must be called before the first byte.
    public mutating func simplify() {
        if !faults.isEmpty { faults[0].simplify() }
    }

    /// How long `decide` may be delayed on a simplified link without changing its result, in nanoseconds; with `isExact`,
    /// nor its draws.
    public mutating func latenessAllowance(at now: Moment, drawingAsRuns isExact: Bool) -> Int64 {
        faults.isEmpty ? .max : faults[0].latenessAllowance(at: now, drawingAsRuns: isExact)
    }

    /// How far apart the delays of bytes may lie on a simplified link, in nanoseconds; 0 if all are the same. Bytes that are
    /// asked for together share one.
    public var delaySpread: Int64 { faults.isEmpty ? 0 : faults[0].delaySpread }

    /// The work of faults so far beside `next` (losses, slices, bytes to change), so that a forecast can stop in time.
    public mutating func work() -> Int { faults.isEmpty ? 0 : faults[0].work() }

    /// What may happen at `now` with `available` bytes waiting in front of the link, or `uncounted`.
    mutating func decide(available: Int64, now: Moment) -> Decision {
        if !hasStages || isFinished { return decideWithoutFaults() }
        let hasEnded = sourceEnd != nil
        let position = arrived + (hasEnded ? 1 : 0)
        let availableEnd = hasEnded ? position : position.addingSaturated(available)
        let progress = StreamProgress(position: position, availableEnd: availableEnd, hasEnded: hasEnded)
        let settled = traits.delays ? min(arrived, faults[0].sentLimit) : delivered
        let context = faults[0].advance(
            progress,
            hasRoom: hasRoom,
            delivered: delivered,
            settled: settled,
            now: now,
            &events
        )
        if context.isBlackholed { isBlackholed = true }
        isPaused = context.isPaused
        let endOffset = context.stop ?? (hasEnded ? arrived : nil)
        isDiscarding = context.isDiscarding && endOffset == nil
        let writeOffset = min(context.progress.bytes, endOffset ?? .max, context.writeLimit)
        var readLimit = endOffset == nil ? max(0, min((context.readEnd ?? arrived) - arrived, room)) : 0
        if isDiscarding { readLimit = Link.uncounted }
        // A silence holds the end that a fault makes as it holds others.
        let isOver = context.progress.hasEnded || context.isClosing && !context.isPaused
        let end = isOver && delivered == endOffset ? takeEnd() : nil
        return Decision(readLimit: readLimit, writeOffset: writeOffset, end: end, wake: context.wake)
    }

    /// The fault events since the last call, in order.
    public mutating func takeEvents() -> [FaultEvent] {
        defer { events = [] }
        return events
    }

    /// Releases what the link shares with others. To be called once, when its connection is over.
    public mutating func close() {
        if !faults.isEmpty { faults[0].leave() }
    }

    private mutating func decideWithoutFaults() -> Decision {
        let hasEnded = sourceEnd != nil
        let readLimit = !hasEnded && !isFinished ? max(0, holdLimit - held) : 0
        let writeOffset = isFinished ? delivered : arrived
        let end = hasEnded && delivered == arrived ? takeEnd() : nil
        return Decision(readLimit: readLimit, writeOffset: writeOffset, end: end, wake: .distantFuture)
    }

    private mutating func takeEnd() -> Ending? {
        guard !isFinished else { return nil }
        isFinished = true
        guard hasStages, let (ending, event) = faults[0].stopped() else {
            return sourceEnd == .reset ? .reset : .finish
        }
        if let event { events.append(event) }
        return ending
    }
}

/// The combined traits of a link's stages.
struct LinkTraits {
    let measuresAvailability: Bool
    let takesAhead: Bool
    /// Whether bytes taken in count as sent and only need time to arrive.
    let delays: Bool
    let countsFromArrival: Bool

    init(_ slots: [Link.Slot]) {
        measuresAvailability = slots.contains { $0.traits.measuresAvailability }
        takesAhead = slots.contains { $0.holds }
        delays = slots.contains { $0.holds && !$0.traits.isSender }
        countsFromArrival = slots.first { $0.holds }?.traits.countsFromArrival ?? false
    }
}
