import FaultProfile
import Units

extension Link {
    /// Bytes taken from the source, including those that faults removed.
    public var taken: Int64 { arrived + (faults.isEmpty ? 0 : faults[0].marks.vanished) }

    /// The event of a fault that has lost bytes and that `change` ends: the stream can't go on; `nil` if there is none. With
    /// `isRemovalEnough` a fault that is removed counts although no byte has come to be lost.
    public func loss(endedBy change: PlanChange, orRemoved isRemovalEnough: Bool = false) -> FaultEvent? {
        guard !isFinished, sourceEnd == nil, !faults.isEmpty else { return nil }
        let slot = faults[0].slots.first { slot in
            guard slot.stage.losesBytes, !change.isKept(slot.fault) else { return false }
            return slot.stage.hasLostBytes || isRemovalEnough && change.isRemoved(slot.fault)
        }
        return slot.map { FaultEvent(fault: $0.fault, offset: nil, effect: .cuts(.close)) }
    }

    var faultIdentities: [Int] { faults.isEmpty ? [] : faults[0].identities }

    /// Switches to the faults of another generation at `now`. Bytes that have passed aren't reconsidered, and bytes
    /// held by a removed fault pass.
    mutating func apply(
        _ update: LinkUpdate,
        _ change: PlanChange,
        messageFault: Int?,
        opened: Moment,
        at now: Moment
    ) {
        if isFinished { return }
        if faults.isEmpty {
            guard !update.isEmpty || messageFault != nil else { return }
            faults = [
                StageChain(
                    slots: [],
                    alterSlots: [],
                    messageFault: messageFault,
                    plan: change.plan,
                    opened: opened
                )
            ]
        }
        let position = arrived + (sourceEnd == nil ? 0 : 1)
        let traits = faults[0].apply(update, change, messageFault: messageFault, position: position, at: now)
        if !faults[0].endsStreams { faults[0].takeAltered(before: .max, at: events.count, &events) }
        apply(
            traits,
            hasStages: !faults[0].slots.isEmpty,
            altersBytes: !faults[0].alterSlots.isEmpty,
            remembersPositions: messageFault != nil
        )
    }
}

extension StageChain {
    var identities: [Int] { slots.map(\.fault) + alterSlots.map(\.fault) }

    /// Switches to the faults of another generation, with the stream at `position` in front of the first stage.
    ///
    /// Stages that remain keep their order and state. A new one is put in front of those of its rank, at the position
    /// that the stream has reached there: bytes held by others of its rank have passed it.
    mutating func apply(
        _ update: LinkUpdate,
        _ change: PlanChange,
        messageFault: Int?,
        position: Int64,
        at now: Moment
    ) -> LinkTraits {
        let plan = change.plan
        schedule = plan.schedule
        interval = plan.schedule.interval(at: now)
        self.messageFault = messageFault
        if let stop, !change.isKept(stop.fault) {
            self.stop = nil
            isClosing = false
            for index in slots.indices { slots[index].withdrawEnd(after: position) }
        }
        altered.removeAll { !change.isKept($0.event.fault) }
        let beginning = update.slots.map { slot in
            var slot = slot
            slot.begin(at: min(position, slots.last { $0.rank < slot.rank }?.passed ?? position))
            if let last = change.counting[slot.fault], let old = slots.first(where: { $0.fault == last }) {
                slot.stage.continueCount(of: old.stage)
            }
            return slot
        }
        slots = kept(slots, change, beginning)
        for index in slots.indices { slots[index].apply(plan.window(ofIdentity: slots[index].fault)) }
        alterSlots = alterSlots.filter { change.isKept($0.fault) } + update.alterSlots
        for index in alterSlots.indices { alterSlots[index].apply(plan.window(ofIdentity: alterSlots[index].fault)) }
        alterationsLookedAt = nil
        flags = plan.flags(of: identities)
        hasRates = slots.contains { $0.traits.isRate }
        hasWindows = slots.contains { !$0.isAlwaysOpen }
        hasFallingDelays = slots.contains { $0.mayFall }
        if !slots.contains(where: { $0.traits.isSender }) { sentLimit = .max }
        if !beginning.isEmpty { spacing.refresh() }
        // A new delay doesn't apply to bytes that came before it.
        if let first = slots.first(where: { $0.holds }), beginning.contains(where: { $0.fault == first.fault }) {
            openSince = now
        }
        return LinkTraits(slots)
    }

    /// The remaining stages merged with the new ones; removed stages release what they share.
    private func kept(
        _ old: [Link.Slot],
        _ change: PlanChange,
        _ beginning: [Link.Slot]
    ) -> [Link.Slot] {
        var rest = beginning[...]
        var result: [Link.Slot] = []
        for var slot in old {
            guard change.isKept(slot.fault) else {
                slot.stage.leave()
                continue
            }
            while let next = rest.first, next.rank <= slot.rank {
                result.append(next)
                rest.removeFirst()
            }
            result.append(slot)
        }
        return result + rest
    }
}
