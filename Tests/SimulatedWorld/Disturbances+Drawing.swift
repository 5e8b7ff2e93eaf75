extension Disturbances {
    /// Draws what goes wrong in a world: nothing in one of four.
    static func draw(_ dice: inout Dice, isBulk: Bool) -> Disturbances {
        var disturbances = Disturbances()
        if isBulk, !dice.once(in: 3) {
            disturbances.buffers = 200_000...2_000_000
        } else if dice.once(in: 3) {
            disturbances.buffers = 200...5_000
        }
        if dice.once(in: 3) { disturbances.latency = 1_000...20_000_000 }
        if dice.once(in: 4) { disturbances.lateness = 0...50_000_000 }
        if dice.once(in: 4) { return disturbances }
        func rate() -> Int { dice.once(in: 2) ? 0 : dice.spread(2...200) }
        disturbances.shortReceive = rate()
        disturbances.shortSend = rate()
        disturbances.refusedSend = rate()
        disturbances.interrupted = rate()
        disturbances.shortSplice = rate()
        if dice.once(in: 4) { disturbances.noSplice = rate() }
        if dice.once(in: 4) { disturbances.noPipe = rate() }
        if dice.once(in: 10) { disturbances.noBuffers = 200 }
        if dice.once(in: 10) { disturbances.noDescriptor = 10 }
        if dice.once(in: 10) { disturbances.abortedAccept = 4 }
        if dice.once(in: 10) { disturbances.failedAccept = 4 }
        if dice.once(in: 10) { disturbances.refusedConnect = 4 }
        if dice.once(in: 10) { disturbances.lostConnect = 4 }
        if dice.once(in: 10) { disturbances.descriptorLimit = dice.number(4...20) }
        return disturbances
    }
}
