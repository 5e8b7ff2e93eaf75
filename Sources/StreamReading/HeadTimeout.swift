import Units

/// The time-outs of an unfinished head, after which its stream passes unread.
///
/// The short limits count from the last byte, because a protocol that waits for an answer is silent after its first bytes
/// and a slow client isn't. The long limit counts from the first byte of the head.
enum HeadTimeout {
    /// After a token in capitals, as most text protocols begin with: 250 ms since the last byte, longer than a
    /// retransmission or a delayed acknowledgement.
    static let token: Int64 = 250_000_000
    /// After a registered method and a possible target, or the start of a status line: 1 s since the last byte.
    static let line: Int64 = 1_000_000_000
    /// After a complete first line, or after an HTTP message: 60 s since the first byte, as servers wait.
    static let head: Int64 = 60_000_000_000

    /// The deadline of a head that began at `began` and last grew at `grew`.
    static func end(_ progress: StartLine.Progress, began: Moment, grew: Moment) -> Moment {
        let end = began.advanced(byNanoseconds: head)
        return switch progress {
        case .token: min(end, grew.advanced(byNanoseconds: token))
        case .line: min(end, grew.advanced(byNanoseconds: line))
        case .whole: end
        }
    }
}
