import FaultProfile
import Units

/// What is done to bytes that were just taken from the source.
public enum Alteration: Hashable, Sendable {
    /// The byte at `index` among them is combined with `mask` by exclusive or.
    case flip(index: Int64, mask: UInt8)
    /// The `count` bytes from `index` on vanish, and those behind them move up.
    case drop(index: Int64, count: Int64)
    /// These bytes are put in front of the one at `index`, or behind the last.
    case insert(index: Int64, bytes: [UInt8])
}

/// How a kind of fault changes bytes, by their offsets alone.
protocol AlteringStage: Sendable {
    /// Whether bytes vanish by it, and aren't just changed.
    static var drops: Bool { get }
    /// Whether bytes come in by it. Such a fault acts behind a byte, and doesn't wait for the next one.
    static var inserts: Bool { get }
    /// Whether it acts at a rate: bytes that pass while it is off are spared in any number, and none is missed.
    var hasRate: Bool { get }
    /// What it has worked out so far, see `Link.work`.
    var work: Int { get }

    /// The offset of the next byte that is to be changed, when `vanished` bytes have vanished before it; beyond all
    /// others where there is none.
    func next(vanished: Int64) -> Int64
    /// Changes the byte at `next`, which is the one at `index`, of which `available` bytes, the first included, are at
    /// hand.
    mutating func alter(index: Int64, available: Int64) -> Altered
    /// The fault was off when the byte at `next` came.
    mutating func miss()
    /// Tells of a position that was found in the stream.
    mutating func note(_ mark: Mark)
    /// Bytes of the source have vanished by another fault: those at these positions.
    mutating func vanished(_ range: Range<Int64>)
    /// The bytes before `offset` pass while the fault, which has a rate, is off.
    mutating func spare(before offset: Int64)
    /// Skips the bytes that were spared, which `next` needs to be right.
    mutating func skipSpared()
    /// Leaves out what only bytes show, see `Link.simplify`.
    mutating func simplify()
}

extension AlteringStage {
    static var drops: Bool { false }
    static var inserts: Bool { false }
    var hasRate: Bool { false }
    var work: Int { 0 }

    mutating func spare(before offset: Int64) {}
    mutating func skipSpared() {}
    mutating func simplify() {}
}

/// What is done to a byte, and what the journal is told, if anything.
struct Altered {
    let alteration: Alteration
    let told: Effect?

    /// What an alteration is told in the journal.
    struct Effect {
        var effect: FaultEvent.Effect
        var place: MessageAim.Target?
        /// The request whose response it is, where no offset counts.
        var request: MessagePlace?
    }
}

/// A question to a fault that changes bytes, as `StageCall` is one to a stage.
protocol AltererCall {
    associatedtype Argument
    associatedtype Answer

    static func call(_ stage: inout some AlteringStage, _ argument: Argument) -> Answer
}

extension Alterer {
    private enum Drops: AltererCall {
        static func call<Stage: AlteringStage>(_: inout Stage, _: Void) -> Bool { Stage.drops }
    }

    private enum Inserts: AltererCall {
        static func call<Stage: AlteringStage>(_: inout Stage, _: Void) -> Bool { Stage.inserts }
    }

    private enum HasRate: AltererCall {
        static func call(_ stage: inout some AlteringStage, _: Void) -> Bool { stage.hasRate }
    }

    private enum Work: AltererCall {
        static func call(_ stage: inout some AlteringStage, _: Void) -> Int { stage.work }
    }

    private enum Next: AltererCall {
        static func call(_ stage: inout some AlteringStage, _ vanished: Int64) -> Int64 {
            stage.next(vanished: vanished)
        }
    }

    private enum Alter: AltererCall {
        static func call(_ stage: inout some AlteringStage, _ at: (index: Int64, available: Int64)) -> Altered {
            stage.alter(index: at.index, available: at.available)
        }
    }

    private enum Miss: AltererCall {
        static func call(_ stage: inout some AlteringStage, _: Void) { stage.miss() }
    }

    private enum Note: AltererCall {
        static func call(_ stage: inout some AlteringStage, _ mark: Mark) { stage.note(mark) }
    }

    private enum Vanished: AltererCall {
        static func call(_ stage: inout some AlteringStage, _ range: Range<Int64>) { stage.vanished(range) }
    }

    private enum Spare: AltererCall {
        static func call(_ stage: inout some AlteringStage, _ offset: Int64) { stage.spare(before: offset) }
    }

    private enum SkipSpared: AltererCall {
        static func call(_ stage: inout some AlteringStage, _: Void) { stage.skipSpared() }
    }

    private enum Simplify: AltererCall {
        static func call(_ stage: inout some AlteringStage, _: Void) { stage.simplify() }
    }

    /// Whether bytes vanish by it; see `AlteringStage` for this and the others.
    mutating func drops() -> Bool { call(Drops.self, ()) }
    mutating func inserts() -> Bool { call(Inserts.self, ()) }
    mutating func hasRate() -> Bool { call(HasRate.self, ()) }
    mutating func work() -> Int { call(Work.self, ()) }
    mutating func next(vanished: Int64) -> Int64 { call(Next.self, vanished) }
    mutating func alter(index: Int64, available: Int64) -> Altered { call(Alter.self, (index, available)) }
    mutating func miss() { call(Miss.self, ()) }
    mutating func note(_ mark: Mark) { call(Note.self, mark) }
    mutating func vanished(_ range: Range<Int64>) { call(Vanished.self, range) }
    mutating func spare(before offset: Int64) { call(Spare.self, offset) }
    mutating func skipSpared() { call(SkipSpared.self, ()) }
    mutating func simplify() { call(Simplify.self, ()) }
}
