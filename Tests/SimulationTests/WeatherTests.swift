import FaultProfile
import Testing

@testable import SimulatedWorld

/// The random profiles of simulated worlds.
@Suite struct WeatherTests {
    /// The keys that no world has, by the kind of the fault or the name of a condition. `shared` is written as `scope`.
    private static let undrawn: [String: Set<String>] = [
        "condition": ["program", "proxy"],
        "httpCondition": ["header", "status"],
        "bandwidth": ["burst", "repeat", "shared", "steps", "wave"],
        "connect": ["jitter", "stream"],
        "connection-limit": ["stream"],
        "corrupt": ["between", "bit", "rate"],
        "half-open": ["after"],
        "http": ["stream"],
        "latency": ["correlation", "distribution", "minimum", "quantiles", "spikes"],
        "loss": ["burst", "link", "queue", "receiveWindow", "sender"],
        "outage": ["recovery", "rtt"],
        "slice": ["spread"],
        "tls": ["stream", "identity"],
        "slow-reader": ["window"],
    ]

    private func keys(of json: JSONText) -> [String: JSONText] {
        guard case .object(let members) = json else { return [:] }
        return Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first }
    }

    @Test func `have every key of the language but those that are named here`() throws {
        var missing = Dictionary(
            uniqueKeysWithValues: FaultKind.Name.allCases.map { ($0.rawValue, Set($0.shape.keys.map(\.name))) }
        )
        for shape in ObjectShape.objects where ["condition", "httpCondition"].contains(shape.definition) {
            missing[shape.definition] = Set(shape.keys.map(\.name))
        }
        func find(_ found: [String: JSONText], _ object: String) { missing[object]?.subtract(found.keys) }
        for seed in UInt64(1)...4_000 {
            var dice = Dice(seed: seed)
            var weather = Weather.draw(&dice, isHTTP: seed.isMultiple(of: 2))
            weather.addTriggers(&dice)
            weather.addTLS(&dice)
            for fault in try weather.read().allFaults {
                let members = keys(of: ProfileWriter.json(of: fault))
                find(members, fault.kind.name.rawValue)
                let condition = members["when"].map(keys) ?? [:]
                find(condition, "condition")
                find(condition["http"].map(keys) ?? [:], "httpCondition")
            }
        }
        #expect(missing.filter { !$0.value.isEmpty } == WeatherTests.undrawn)
    }
}
