import FaultProfile
import Units

/// The effects of a kind of fault on connections, all optional. Each kind conforms beside its stage.
protocol PlannedFault: Sendable {
    /// Whether the link of `direction` has a stage of the fault. By default the directions of the fault have.
    func reaches(_ direction: Direction, from fault: Fault) -> Bool
    /// The fault's stage in the link of a direction.
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)?
    /// The fault's changes to bytes of a direction.
    func alterer(in place: StagePlace) -> Alterer?
    /// How the fault ends a whole connection, or holds such an end; one that ends it has no stage.
    var terminator: ConnectionTerminators.Cause? { get }
    /// The receive buffer of the connection's sockets.
    var receiveWindow: ByteCount? { get }
    /// The role for every new connection; `nil` for a fault that acts on accepted connections.
    func gateRole(isForEverybody: Bool) -> AdmissionFault.Role?
    /// Adds the effects on a new connection, if the fault is on when it is accepted.
    func addDialFaults(to dial: inout DialFaults, in place: DialContext)
}

extension PlannedFault {
    var terminator: ConnectionTerminators.Cause? { nil }
    var receiveWindow: ByteCount? { nil }

    func reaches(_ direction: Direction, from fault: Fault) -> Bool { fault.acts(on: direction) }
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? { nil }
    func alterer(in place: StagePlace) -> Alterer? { nil }
    func gateRole(isForEverybody: Bool) -> AdmissionFault.Role? { nil }
    func addDialFaults(to dial: inout DialFaults, in place: DialContext) {}
}

/// The order of stages in a link, whatever order the profile has (docs/decisions/0004-stage-order.md).
///
/// End, outage, stall and slice come before the rates, so that no rate is used for bytes that can't pass, and the own rate
/// before the shared one. Loss comes after the rates, which would hide it; then the trace; then the delays, so that a link
/// takes in no more than is in flight, those with spikes first, because what other delays hold can't stand still; and last
/// the late end.
enum StageRank: Int {
    case end
    case outage
    case stall
    case slice
    case rate
    case sharedRate
    case loss
    case trace
    case spikes
    case delay
    case lateEnd
}

/// The context of a fault on one direction of a connection. Keys and filters are made for the faults that need them.
struct StagePlace {
    let source: PreparedFault
    let direction: Direction
    /// The number of connections it has met before while it was on; `nil` on a live connection, or if the fault was off
    /// when the connection was accepted.
    let turn: Int?
    /// Whether the connection was accepted while the fault was on.
    let isOnAtStart: Bool
    /// The shared rate of the direction, if the fault is one.
    let rate: SharedBucket?
    let connectionKey: RandomKey

    var fault: Int { source.identity }
    var isNarrowed: Bool { source.fault.condition.http != nil }
    /// The messages that the fault is narrowed to. A request and its response have one draw.
    var filter: MessageFilter {
        MessageFilter(source.fault.condition.http, key: connectionKey.adding(source.fault.name))
    }
    var key: RandomKey { connectionKey.adding(direction, source.fault.name) }

    /// The key of the fault's draws for all connections.
    var commonKey: RandomKey { source.key }

    func acts(on direction: Direction) -> Bool { source.fault.acts(on: direction) }
}

/// The context of a fault on a new connection.
struct DialContext {
    let source: PreparedFault
    let connectionKey: RandomKey

    var fault: Int { source.identity }
    var window: Window { source.window }
    /// Whether the fault is narrowed to messages, of which none has come.
    var isNarrowed: Bool { source.fault.condition.http != nil }
    var key: RandomKey { connectionKey.adding(source.fault.name) }
}
