import FaultProfile
import Units

/// What is done to bytes that were just taken from the source.
public enum Alteration: Hashable, Sendable {
    /// The byte at `index` among them is combined with `mask` by exclusive or.
    case flip(index: Int64, mask: UInt8)
    /// The `count` bytes from `index` on vanish, and those behind them move up.
    case drop(index: Int64, count: Int64)
}

/// A fault that changes bytes: which of them, by their offsets alone.
///
/// An enum of values, as `Stage` is. Bytes are changed as they enter the link; a byte that vanishes has no offset.
enum Alterer {
    case corrupt(CorruptStage)
    case truncate(TruncateStage)
    case drop(DroppedResponses)

    /// What an alteration of this fault is told in the journal.
    struct Effect {
        var effect: Strike.Effect
        var place: MessageAim.Target?
        /// The request whose response it is, where no offset counts.
        var request: MessagePlace?
    }

    /// The alterer of a fault; `nil` for a kind that changes no byte.
    init?(_ kind: FaultKind, _ filter: MessageFilter, key: RandomKey) {
        switch kind {
        case .corrupt(let corrupt): self = .corrupt(CorruptStage(corrupt, filter, key: key))
        case .truncate(let truncate): self = .truncate(TruncateStage(truncate, filter))
        case .http(.drop(let codes)): self = .drop(DroppedResponses(codes, filter.condition, key: key))
        case .latency, .bandwidth, .cut, .stall, .outage, .trace, .slice, .slowReader, .loss, .http(.answer): return nil
        case .connect, .connectionLimit, .slowClose, .halfOpen: return nil
        }
    }

    /// Whether it strikes at a rate: bytes that pass while it is off are spared in any number, and none is missed.
    var hasRate: Bool {
        guard case .corrupt(let stage) = self else { return false }
        return stage.hasRate
    }

    /// What it has worked out so far, see `Link.work`.
    var work: Int {
        guard case .corrupt(let stage) = self else { return 0 }
        return stage.work
    }

    /// The bytes before `offset` pass while the fault, which has a rate, is off.
    mutating func spare(before offset: Int64) {
        guard case .corrupt(var stage) = consume self else {
            preconditionFailure("only a fault with a rate spares bytes")
        }
        stage.spare(before: offset)
        self = .corrupt(stage)
    }

    /// Skips the bytes that were spared, which `next` needs to be right.
    mutating func skipSpared() {
        guard case .corrupt(var stage) = consume self else {
            preconditionFailure("only a fault with a rate spares bytes")
        }
        stage.skipSpared()
        self = .corrupt(stage)
    }

    /// Whether bytes vanish by it, and aren't just changed.
    var drops: Bool {
        switch self {
        case .truncate, .drop: true
        case .corrupt: false
        }
    }

    mutating func note(_ mark: Mark) {
        switch consume self {
        case .corrupt(var stage):
            stage.note(mark)
            self = .corrupt(stage)
        case .truncate(var stage):
            stage.note(mark)
            self = .truncate(stage)
        case .drop(var responses):
            responses.note(mark)
            self = .drop(responses)
        }
    }

    /// The offset of the next byte that is to be changed, when `vanished` bytes have vanished before it; beyond
    /// all others where there is none.
    func next(vanished: Int64) -> Int64 {
        switch self {
        case .corrupt(let stage): stage.next(vanished: vanished)
        case .truncate(let stage): stage.next(vanished: vanished)
        case .drop(let responses): responses.next - vanished
        }
    }

    /// Changes the byte at `next`, of which `available` bytes, the first included, are at hand.
    ///
    /// - Returns: what is done, and what the journal is told, if anything.
    mutating func alter(index: Int64, available: Int64) -> (alteration: Alteration, told: Effect?) {
        switch consume self {
        case .corrupt(var stage):
            let (mask, isTold, place) = stage.strike()
            self = .corrupt(stage)
            return (.flip(index: index, mask: mask), isTold ? Effect(effect: .corrupts, place: place) : nil)
        case .truncate(var stage):
            let (count, isFirst, place) = stage.strike(available: available)
            self = .truncate(stage)
            return (.drop(index: index, count: count), isFirst ? Effect(effect: .truncates, place: place) : nil)
        case .drop(var responses):
            let (count, request) = responses.strike(available: available)
            self = .drop(responses)
            return (.drop(index: index, count: count), Effect(effect: .drops, request: request))
        }
    }

    /// Leaves out what only bytes show, see `Link.simplify`.
    mutating func simplify() {
        guard case .corrupt(var stage) = self else { return }
        stage.simplify()
        self = .corrupt(stage)
    }

    /// Bytes of the source have vanished by another fault: those at these positions.
    mutating func vanished(_ range: Range<Int64>) {
        switch consume self {
        case .corrupt(var stage):
            stage.vanished(range)
            self = .corrupt(stage)
        case .truncate(var stage):
            stage.vanished(range)
            self = .truncate(stage)
        case .drop(var responses):
            responses.vanished(range)
            self = .drop(responses)
        }
    }

    /// The fault was off when the byte at `next` came.
    mutating func miss() {
        switch consume self {
        case .corrupt(var stage):
            stage.miss()
            self = .corrupt(stage)
        case .truncate(var stage):
            stage.miss()
            self = .truncate(stage)
        case .drop(var responses):
            responses.miss()
            self = .drop(responses)
        }
    }
}
