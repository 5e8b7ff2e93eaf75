import Units

/// What the faults that act on a connection as a whole know of it.
///
/// Apart from the connection's state, because a connection without such faults needs none of it.
struct FaultWatch: Sendable {
    /// The wait in front of the connection's bytes; `nil` when there is none any more.
    var hold: DialHold?
    /// The bytes that had passed at the last look, and the time of the last change.
    var passed: (bytes: Int64, moment: Moment)
    /// The time before which no fault ends the connection. Bytes that pass may put it off, which is seen when it comes.
    var safeUntil = Moment(nanoseconds: .min)
    var spacing = WakeSpacing()
    /// Since when the end waits for the listener to refuse clients.
    var endPendingSince: Moment?
}
