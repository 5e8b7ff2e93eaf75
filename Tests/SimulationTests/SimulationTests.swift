import SimulatedWorld
import Testing

/// The engine on a simulated system, with everything going wrong that may; `make simulate` runs many more seeds.
@Suite struct SimulationTests {
    @Test(arguments: 0..<4)
    func `no byte is lost, changed or doubled, and everything is given back`(part: UInt64) {
        for seed in part * 120 + 1...(part + 1) * 120 {
            let outcome = World.run(seed: seed)
            #expect(outcome.failures.isEmpty, "seed \(seed)")
        }
    }

    @Test func `the same seed has the same journal`() {
        var lines = 0
        for seed in UInt64(1)...60 {
            let journal = World.run(seed: seed).journal
            #expect(World.run(seed: seed).journal == journal, "seed \(seed)")
            lines += journal.count
        }
        #expect(lines > 10)
    }
}
