import FaultProfile
import Units

/// Collects the faults of one connection, fault by fault, into a `ConnectionPlan`.
struct ConnectionDraft {
    /// The connection's number, counted from 1.
    let ordinal: UInt64
    /// When it was accepted.
    let opened: Moment
    let phase: Int?
    var dialFaults = DialFaults()
    var terminators: [ConnectionTerminators.Source] = []
    var windows: [Direction: ByteCount] = [:]
    var reading = StreamInterest()
    /// The first fault that acts on messages; it reports a stream that isn't HTTP.
    var messageFault: Int?
    private var upstream: [Link.Slot] = []
    private var downstream: [Link.Slot] = []
    private var alterSlots: [Direction: [Link.AlterSlot]] = [:]

    init(ordinal: UInt64, opened: Moment, phase: Int?) {
        self.ordinal = ordinal
        self.opened = opened
        self.phase = phase
    }

    /// Notes what has to be read for a fault that acts on messages.
    mutating func noteReading(of fault: Fault, _ identity: Int) {
        messageFault = messageFault ?? identity
        reading.messages = true
        if let condition = fault.condition.http { reading.add(condition) }
    }

    /// Adds a stage of a link, before those of higher ranks and after earlier ones of the same rank.
    mutating func add(_ slot: Link.Slot, on direction: Direction) {
        switch direction {
        case .upstream: ConnectionDraft.add(slot, to: &upstream)
        case .downstream: ConnectionDraft.add(slot, to: &downstream)
        }
    }

    private static func add(_ slot: Link.Slot, to slots: inout [Link.Slot]) {
        let last = slots.lastIndex { $0.rank <= slot.rank }
        slots.insert(slot, at: last.map { $0 + 1 } ?? 0)
    }

    /// The stages of a link, in order.
    func slots(_ direction: Direction) -> [Link.Slot] {
        switch direction {
        case .upstream: upstream
        case .downstream: downstream
        }
    }

    /// The faults that alter bytes of a link, in order.
    func alterSlots(_ direction: Direction) -> [Link.AlterSlot] { alterSlots[direction] ?? [] }

    /// Adds a fault that alters bytes of a link, after earlier ones.
    mutating func add(_ slot: Link.AlterSlot, on direction: Direction) {
        alterSlots[direction, default: []].append(slot)
    }

    /// The plan of a connection that follows `plan`.
    func plan(of plan: Plan) -> ConnectionPlan {
        ConnectionPlan(
            ordinal: ordinal,
            numberAtTarget: nil,
            opened: opened,
            upstream: link(.upstream, plan),
            downstream: link(.downstream, plan),
            faults: faults(plan.schedule),
            receiveWindow: windows,
            reading: reading,
            content: nil
        )
    }

    private func faults(_ schedule: Schedule) -> ConnectionFaults {
        let sources = dialFaults.endings + terminators
        let hold = DialHold(dialFaults, schedule: schedule, opened: opened)
        if sources.isEmpty, hold == nil, dialFaults.handshake.isEmpty { return .none }
        return ConnectionFaults(
            terminators: ConnectionTerminators(sources: sources, schedule: schedule, opened: opened),
            hold: hold,
            handshake: dialFaults.handshake
        )
    }

    private func link(_ direction: Direction, _ plan: Plan) -> Link {
        Link(
            direction: direction,
            slots: slots(direction),
            alterSlots: alterSlots(direction),
            messageFault: messageFault,
            plan: plan,
            opened: opened
        )
    }
}
