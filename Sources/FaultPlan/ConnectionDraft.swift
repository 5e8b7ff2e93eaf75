import FaultProfile
import Units

/// What the faults that hit a connection make of it, gathered fault by fault.
struct ConnectionDraft {
    /// The connection's number, counted from 1.
    let ordinal: UInt64
    /// When it was accepted.
    let opened: Moment
    /// The phase that ran then.
    let phase: Int?
    var beginning = Beginning()
    var interruptions: [Interruptions.Source] = []
    var windows: [Direction: ByteCount] = [:]
    var reading = StreamInterest()
    /// The first fault that asks for messages; what isn't HTTP is told of it.
    var messageFault: Int?
    private var upstream: [(rank: Int, slot: Link.Slot)] = []
    private var downstream: [(rank: Int, slot: Link.Slot)] = []
    private var alterSlots: [Direction: [Link.AlterSlot]] = [:]

    init(ordinal: UInt64, opened: Moment, phase: Int?) {
        self.ordinal = ordinal
        self.opened = opened
        self.phase = phase
    }

    /// A stage of a link, before those of higher ranks and behind those of the same rank that came first.
    mutating func add(_ slot: Link.Slot, rank: Int, on direction: Direction) {
        switch direction {
        case .upstream: upstream.append((rank, slot))
        case .downstream: downstream.append((rank, slot))
        }
    }

    /// A fault that changes bytes of a link, behind those that came first.
    mutating func add(_ slot: Link.AlterSlot, on direction: Direction) {
        alterSlots[direction, default: []].append(slot)
    }

    /// The plan of the connection.
    func plan(schedule: Schedule, holdLimit: ByteCount) -> ConnectionPlan {
        ConnectionPlan(
            ordinal: ordinal,
            opened: opened,
            upstream: link(.upstream, upstream, schedule, holdLimit),
            downstream: link(.downstream, downstream, schedule, holdLimit),
            interruptions: Interruptions(
                sources: beginning.endings + interruptions,
                schedule: schedule,
                opened: opened
            ),
            receiveWindow: windows,
            connectDelay: beginning.delay,
            reading: reading,
            hang: Hang(sources: beginning.hangs, schedule: schedule, opened: opened)
        )
    }

    private func link(
        _ direction: Direction,
        _ ranked: [(rank: Int, slot: Link.Slot)],
        _ schedule: Schedule,
        _ holdLimit: ByteCount
    ) -> Link {
        let ordered = ranked.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
        return Link(
            direction: direction,
            slots: ordered.map { $0.element.slot },
            alterSlots: alterSlots[direction] ?? [],
            messageFault: messageFault,
            schedule: schedule,
            opened: opened,
            holdLimit: holdLimit
        )
    }
}
