import Units

/// How long an unfinished head is held before its stream passes unread.
///
/// A protocol that waits for an answer to its first bytes is silent behind them, and a client that types a head slowly
/// isn't: so the short limits count from the last byte that came. The head as a whole has the long one.
enum HeadTimeout {
    /// A token of capitals, which most protocols of text begin with: 250 ms behind its last byte. That is longer than a
    /// retransmission or a delayed acknowledgement between two parts of a head takes.
    static let token: Int64 = 250_000_000
    /// A registered method and what may be the start of a target, or the start of a status line: 1 s behind the last byte.
    static let line: Int64 = 1_000_000_000
    /// A head with a whole first line, and any head behind a message of HTTP: 60 s behind its first byte, as servers wait.
    static let head: Int64 = 60_000_000_000

    /// When a head that began at `began` and last grew at `grew` is let go.
    static func end(_ progress: StartLine.Progress, began: Moment, grew: Moment) -> Moment {
        let end = began.advanced(byNanoseconds: head)
        return switch progress {
        case .token: min(end, grew.advanced(byNanoseconds: token))
        case .line: min(end, grew.advanced(byNanoseconds: line))
        case .whole: end
        }
    }
}
