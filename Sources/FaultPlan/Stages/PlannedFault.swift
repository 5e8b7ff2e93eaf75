import FaultProfile
import Units

/// What a fault of a kind does to connections; each part has a default, which is nothing. A kind says it beside its stage.
protocol PlannedFault {
    /// Its stage in the link of a direction.
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)?
    /// How it changes bytes of a direction; such a fault has no stage.
    func alterer(in place: StagePlace) -> Alterer?
    /// How it ends both directions at once; such a fault has no part in links.
    var terminator: ConnectionTerminators.Cause? { get }
    /// The receive buffer that it gives the connection.
    var receiveWindow: ByteCount? { get }
    /// What it is to everybody who connects; `nil` for a fault that is told to connections once they have been accepted.
    func gateRole(isForEverybody: Bool) -> Gate.Role?
    /// Adds what it does to the beginning of a connection, when it is on as that is accepted.
    func begin(_ dialFaults: inout DialFaults, in place: DialContext)
}

extension PlannedFault {
    var terminator: ConnectionTerminators.Cause? { nil }
    var receiveWindow: ByteCount? { nil }

    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? { nil }
    func alterer(in place: StagePlace) -> Alterer? { nil }
    func gateRole(isForEverybody: Bool) -> Gate.Role? { nil }
    func begin(_ dialFaults: inout DialFaults, in place: DialContext) {}
}

/// The order of stages in a link, whatever order the profile has (docs/decisions/0004-stage-order.md).
///
/// A stream is first ended, then silenced, then stalled, then sliced, then held to its own rate, then to a shared one, so
/// that nobody uses up a rate for bytes that can't pass; then it loses packets, which a rate behind it would hide; then it
/// waits for the opportunities of a trace; then it is delayed, so that a link takes in no more than is in flight; and its
/// end comes late behind all that.
enum StageRank: Int {
    case end
    case outage
    case stall
    case slice
    case rate
    case sharedRate
    case loss
    case trace
    case delay
    case lateEnd
}

/// Where a fault acts on a direction of a connection.
struct StagePlace {
    /// The fault's identity.
    let fault: Int
    /// How many connections it has met before; `nil` on a connection that has begun already.
    let turn: Int?
    /// The rate that the direction shares with others, if the fault is one.
    let rate: SharedBucket?
    /// The messages that it is narrowed to.
    let filter: MessageFilter
    /// The key of what it draws.
    let key: RandomKey
}

/// Where a fault acts on the beginning of a connection.
struct DialContext {
    /// The fault's identity.
    let fault: Int
    let window: Window
    /// Whether it is narrowed to messages, none of which has come.
    let isNarrowed: Bool
    /// The key of what it draws for the connection.
    let key: RandomKey
}
