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

    /// The alterer of a fault; `nil` for a kind that changes no byte.
    init?(_ kind: FaultKind, key: RandomKey) {
        switch kind {
        case .corrupt(let corrupt): self = .corrupt(CorruptStage(corrupt, key: key))
        case .truncate(let truncate): self = .truncate(TruncateStage(truncate))
        case .latency, .bandwidth, .cut, .stall, .outage, .trace, .slice, .slowReader, .loss: return nil
        }
    }

    /// The offset of the next byte that is to be changed; `Int64.max` is none.
    var next: Int64 {
        switch self {
        case .corrupt(let stage): stage.next
        case .truncate(let stage): stage.next
        }
    }

    /// Changes the byte at `next`, of which `available` bytes, the first included, are at hand.
    ///
    /// - Returns: what is done, and what the journal is told, if anything.
    mutating func alter(index: Int64, available: Int64) -> (alteration: Alteration, effect: Strike.Effect?) {
        switch self {
        case .corrupt(var stage):
            let (mask, isTold) = stage.strike()
            self = .corrupt(stage)
            return (.flip(index: index, mask: mask), isTold ? .corrupts : nil)
        case .truncate(var stage):
            let (count, isFirst) = stage.strike(available: available)
            self = .truncate(stage)
            return (.drop(index: index, count: count), isFirst ? .truncates : nil)
        }
    }

    /// The fault was off when the byte at `next` came.
    mutating func miss() {
        switch self {
        case .corrupt(var stage):
            _ = stage.strike()
            self = .corrupt(stage)
        case .truncate(var stage):
            stage.miss()
            self = .truncate(stage)
        }
    }
}
