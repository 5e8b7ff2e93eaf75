import Units

/// What a forecast asks of the faults of a link.
extension StageChain {
    mutating func simplify() {
        steadyAllowance = .max
        let isAlone = slots.count == 1
        for index in slots.indices {
            steadyAllowance = min(steadyAllowance, slots[index].stage.simplify(isAlone: isAlone))
        }
        for index in alterSlots.indices { alterSlots[index].alterer.simplify() }
        // Steady rates are even for ever.
        let isEven = slots.indices.allSatisfy { slots[$0].stage.rateConstantFor(after: opened, LinkTime()) == .max }
        let paced = slots.count { $0.traits.isPaced }
        hasUnevenRates = (paced > 1 || paced > 0 && hasFallingDelays) && !isEven
        delaySpread = slots.reduce(0) { $0.addingSaturated($1.traits.delaySpread) }
    }

    /// See `Link.latenessAllowance`.
    mutating func latenessAllowance(at now: Moment, drawingAsRuns isExact: Bool) -> Int64 {
        if isExact, delaySpread > 0 { return 0 }
        guard hasUnevenRates else { return steadyAllowance }
        let time = time(at: now)
        return slots.indices.reduce(steadyAllowance) { min($0, slots[$1].stage.rateConstantFor(after: now, time)) }
    }

    mutating func work() -> Int {
        let sought = alterSlots.indices.reduce(alterationsSought) { $0 + alterSlots[$1].alterer.work() }
        return slots.indices.reduce(sought) { $0 + slots[$1].stage.work() }
    }
}
