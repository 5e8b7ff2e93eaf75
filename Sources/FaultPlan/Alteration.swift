import FaultProfile
import Units

/// A change to bytes that were just taken from the source.
public enum Alteration: Hashable, Sendable {
    /// XORs the byte at `index` with `mask`.
    case flip(index: Int64, mask: UInt8)
    /// Removes `count` bytes at `index`.
    case drop(index: Int64, count: Int64)
    /// Inserts bytes at `index`, or after the last byte.
    case insert(index: Int64, bytes: [UInt8])
}

/// A fault that changes bytes, chosen by their offsets alone.
protocol StreamAlterer: Sendable {
    /// Whether the fault removes bytes.
    static var drops: Bool { get }
    /// Whether the fault inserts bytes. It acts after a byte, without waiting for the next one.
    static var inserts: Bool { get }
    /// Whether the fault acts at a rate, so that bytes which pass while it is off are skipped.
    var hasRate: Bool { get }
    /// The work done so far, see `Link.work`.
    var work: Int { get }

    /// The offset of the next byte to change, given that `vanished` bytes were removed before it; `Int64.max` if none.
    func next(vanished: Int64) -> Int64
    /// Changes the byte at `next`, which is at `index` in the chunk; `available` bytes start there.
    mutating func alter(index: Int64, available: Int64) -> Altered
    /// Skips the byte at `next`, which came while the fault was off.
    mutating func miss()
    /// Takes a position found in the stream.
    mutating func note(_ mark: Mark)
    /// A message that the fault is narrowed to has passed, and ended at `end`.
    mutating func messageEnded(at end: Int64)
    /// Another fault removed the source bytes at these positions.
    mutating func vanished(_ range: Range<Int64>)
    /// Another fault inserted `count` bytes at `offset`.
    mutating func inserted(_ count: Int64, at offset: Int64)
    /// Bytes before `offset` pass while the fault, which has a rate, is off.
    mutating func spare(before offset: Int64)
    /// Skips the spared bytes, so that `next` is right again.
    mutating func skipSuspended()
    /// Omits effects that only show in the bytes, see `Link.simplify`.
    mutating func simplify()
}

extension StreamAlterer {
    static var drops: Bool { false }
    static var inserts: Bool { false }
    var hasRate: Bool { false }
    var work: Int { 0 }

    mutating func messageEnded(at end: Int64) {}
    mutating func inserted(_ count: Int64, at offset: Int64) {}
    mutating func spare(before offset: Int64) {}
    mutating func skipSuspended() {}
    mutating func simplify() {}
}

/// A change and its journal entry, if it has one.
struct Altered {
    let alteration: Alteration
    let reported: Effect?

    /// The journal entry of a change.
    struct Effect {
        var effect: FaultEvent.Effect
        var place: MessageAim.Target?
        /// The request whose response was changed, for a change without an offset.
        var request: MessagePlace?
        var hasOffset = true
    }
}

/// A call to a fault that changes bytes, as `StageCall` is one to a stage.
protocol AltererCall {
    associatedtype Argument
    associatedtype Answer

    static func call(_ stage: inout some StreamAlterer, _ argument: Argument) -> Answer
}

extension Alterer {
    private enum Drops: AltererCall {
        static func call<Stage: StreamAlterer>(_: inout Stage, _: Void) -> Bool { Stage.drops }
    }

    private enum Inserts: AltererCall {
        static func call<Stage: StreamAlterer>(_: inout Stage, _: Void) -> Bool { Stage.inserts }
    }

    private enum HasRate: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _: Void) -> Bool { stage.hasRate }
    }

    private enum Work: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _: Void) -> Int { stage.work }
    }

    private enum Next: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _ vanished: Int64) -> Int64 {
            stage.next(vanished: vanished)
        }
    }

    private enum Alter: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _ at: (index: Int64, available: Int64)) -> Altered {
            stage.alter(index: at.index, available: at.available)
        }
    }

    private enum Miss: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _: Void) { stage.miss() }
    }

    private enum Note: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _ mark: Mark) { stage.note(mark) }
    }

    private enum MessageEnded: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _ end: Int64) { stage.messageEnded(at: end) }
    }

    private enum Vanished: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _ range: Range<Int64>) { stage.vanished(range) }
    }

    private enum Inserted: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _ bytes: (count: Int64, offset: Int64)) {
            stage.inserted(bytes.count, at: bytes.offset)
        }
    }

    private enum Spare: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _ offset: Int64) { stage.spare(before: offset) }
    }

    private enum SkipSpared: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _: Void) { stage.skipSuspended() }
    }

    private enum Simplify: AltererCall {
        static func call(_ stage: inout some StreamAlterer, _: Void) { stage.simplify() }
    }

    /// See `StreamAlterer` for all of these.
    mutating func drops() -> Bool { call(Drops.self, ()) }
    mutating func inserts() -> Bool { call(Inserts.self, ()) }
    mutating func hasRate() -> Bool { call(HasRate.self, ()) }
    mutating func work() -> Int { call(Work.self, ()) }
    mutating func next(vanished: Int64) -> Int64 { call(Next.self, vanished) }
    mutating func alter(index: Int64, available: Int64) -> Altered { call(Alter.self, (index, available)) }
    mutating func miss() { call(Miss.self, ()) }
    mutating func note(_ mark: Mark) { call(Note.self, mark) }
    mutating func messageEnded(at end: Int64) { call(MessageEnded.self, end) }
    mutating func vanished(_ range: Range<Int64>) { call(Vanished.self, range) }
    mutating func inserted(_ count: Int64, at offset: Int64) { call(Inserted.self, (count, offset)) }
    mutating func spare(before offset: Int64) { call(Spare.self, offset) }
    mutating func skipSuspended() { call(SkipSpared.self, ()) }
    mutating func simplify() { call(Simplify.self, ()) }
}
