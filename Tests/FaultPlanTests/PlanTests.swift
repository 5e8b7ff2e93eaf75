import FaultPlan
import FaultProfile
import Testing
import Units

@Suite("A plan")
struct PlanTests {
    /// The connections, of `count`, on which a fault of `condition` is on.
    private func hit(_ condition: Condition, of count: Int, seed: UInt64 = 1, name: String = "cut") -> [Int] {
        var admitter = Admitter.of(.of([.cut(at: 0, name: name).when(condition)]), seed: seed)
        return (1...count).filter { _ in !admitter.accept(at: .zero).upstream.isTransparent }
    }

    @Test
    func `numbers connections from one`() {
        var admitter = Admitter.of(.of([]))
        #expect((1...5).map { _ in admitter.accept(at: .zero).ordinal } == [1, 2, 3, 4, 5])
    }

    @Test
    func `hits the connections that the profile selects by number`() {
        #expect(hit(Condition(), of: 4) == [1, 2, 3, 4])
        #expect(hit(Condition(connections: .range(2...3)), of: 5) == [2, 3])
        #expect(hit(Condition(connections: .range(1...1)), of: 5) == [1])
        #expect(hit(Condition(connections: .every(3)), of: 10) == [3, 6, 9])
        #expect(hit(Condition(connections: .every(1)), of: 3) == [1, 2, 3])
    }

    @Test(arguments: [0.01, 0.2, 0.5, 0.9])
    func `hits as many connections as the chance says`(fraction: Double) throws {
        let chance = try #require(Probability(fraction))
        let hits = Double(hit(Condition(chance: chance), of: 5_000).count)
        let deviation = (5_000 * fraction * (1 - fraction)).squareRoot()
        #expect(abs(hits - 5_000 * fraction) < 4.5 * deviation)
    }

    @Test
    func `hits none at a chance of never and all at a chance of always`() {
        #expect(hit(Condition(chance: .never), of: 1_000).isEmpty)
        #expect(hit(Condition(chance: .always), of: 1_000).count == 1_000)
    }

    @Test
    func `draws a chance anew for each connection, fault name and seed`() throws {
        let half = Condition(chance: try #require(Probability(0.5)))
        let first = hit(half, of: 200)
        #expect(hit(half, of: 200) == first)
        #expect(hit(half, of: 200, seed: 2) != first)
        #expect(hit(half, of: 200, name: "other") != first)
    }

    @Test
    func `hits both directions or neither`() throws {
        let half = Condition(chance: try #require(Probability(0.5)))
        var admitter = Admitter.of(.of([.cut(at: 3).when(half)]))
        for _ in 1...100 {
            let connection = admitter.accept(at: .zero)
            #expect(connection.upstream.isTransparent == connection.downstream.isTransparent)
        }
    }

    @Test
    func `needs everything that a condition says`() throws {
        let half = try #require(Probability(0.5))
        let all = Set(hit(Condition(chance: half), of: 300))
        let some = hit(Condition(connections: .every(3), chance: half), of: 300)
        #expect(some == all.filter { $0.isMultiple(of: 3) }.sorted())
    }

    @Test
    func `lists the faults that are always on, then those of each phase`() {
        let phases = [
            Phase.lasting(.seconds(1), .cut(at: 1, name: "b"), name: "one"),
            .lasting(.seconds(1), .cut(at: 1, name: "c"), name: "two"),
        ]
        #expect(Plan.of(.of([.cut(at: 1, name: "a")], phases: phases)).faults.map(\.name) == ["a", "b", "c"])
    }

    @Test
    func `applies faults in the same order whatever order the profile has`() {
        let faults: [Fault] = [
            .latency(.milliseconds(2)), .stall(at: 3, for: .milliseconds(2)), .bandwidth(bytesPerSecond: 1_000),
            .cut(at: 5),
        ]
        let expected = timeline(of: link(faults), arrivals: "9---")
        #expect(expected == "-----3---(2X)")
        for shift in 1..<faults.count {
            #expect(timeline(of: link(Array(faults[shift...] + faults[..<shift])), arrivals: "9---") == expected)
        }
    }

    @Test
    func `tells the journal the names of the profile`() {
        let plan = Plan(profile: .of([.cut(at: 5, name: "snip")]), seed: 3, proxy: "shop", start: .zero)
        let event = FaultEvent(fault: 0, offset: 5, effect: .cuts(.close))
        let entry = plan.journalEntry(of: event, connection: 2, direction: .upstream, at: .seconds(4))
        let expected = JournalEntry(
            moment: .seconds(4),
            proxy: "shop",
            connection: 2,
            direction: .upstream,
            fault: "snip",
            kind: plan.fault(0).kind.name,
            offset: 5,
            effect: .cuts(.close)
        )
        #expect(entry == expected)
    }

    @Test
    func `has a word for every effect`() {
        let effects: [FaultEvent.Effect] = [
            .delays, .limits, .cuts(.close), .cuts(.reset), .stalls, .silences, .resets, .refuses, .slices,
        ]
        let words = ["delays", "limits", "closes", "resets", "stalls", "silences", "resets", "refuses", "slices"]
        #expect(effects.map(\.word) == words)
    }

    private func link(_ faults: [Fault]) -> Link {
        var admitter = Admitter.of(.of(faults))
        return admitter.accept(at: .zero).downstream
    }
}
