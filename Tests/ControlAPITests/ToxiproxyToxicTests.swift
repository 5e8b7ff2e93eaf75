import FaultProfile
import Testing
import Units

@testable import ControlAPI

/// Toxics as JSON and as faults.
@Suite struct ToxiproxyToxicTests {
    private func toxic(_ type: ToxicType, _ values: [Int64], toxicity: Float = 1, stream: String = "downstream")
        -> Toxic
    {
        Toxic(name: "t", type: type, writtenStream: stream, toxicity: toxicity, values: values)
    }

    @Test(arguments: ToxicType.allCases)
    func `every attribute is written`(type: ToxicType) {
        let values = type.attributes.indices.map { Int64($0) + 1 }
        let attributes = zip(type.attributes, values).map { "\"\($0)\":\($1)" }.joined(separator: ",")
        #expect(
            toxic(type, values, stream: "UPSTREAM").json.compact
                == "{\"attributes\":{\(attributes)},\"name\":\"t\",\"type\":\"\(type.rawValue)\","
                + "\"stream\":\"UPSTREAM\",\"toxicity\":1}"
        )
    }

    @Test(arguments: [
        (Float(0.5), "0.5"), (0.1, "0.1"), (0, "0"), (1, "1"), (1e-7, "1e-7"), (0.33333334, "0.33333334"),
    ])
    func `a toxicity is written as Go writes it`(toxicity: Float, text: String) {
        #expect(toxic(.noop, [], toxicity: toxicity).json.compact.hasSuffix("\"toxicity\":\(text)}"))
    }

    private static let kinds: [(ToxicType, [Int64], FaultKind?)] = [
        (.latency, [200, 50], .latency(Latency(delay: .milliseconds(200), jitter: .milliseconds(50)))),
        (.latency, [0, 0], nil),
        (.bandwidth, [100], .bandwidth(Bandwidth(rate: .bytesPerSecond(100_000)))),
        (.bandwidth, [0], .outage(Outage(how: .silence))),
        (.bandwidth, [.max], .bandwidth(Bandwidth(rate: .bytesPerSecond(Int64.max / 8_000 * 1_000)))),
        (.slowClose, [70], .slowClose(SlowClose(delay: .milliseconds(70)))),
        (.slowClose, [0], nil),
        (.timeout, [0], .discard(Discard())),
        (.timeout, [9], .discard(Discard(closeAfter: .milliseconds(9)))),
        (.resetPeer, [30], .cut(Cut(position: .traffic(.milliseconds(30)), how: .reset))),
        (.limitData, [12], .cut(Cut(position: .limit(ByteCount(12)), how: .close))),
        (.slicer, [10, 4, 250], .slice(Slice(size: ByteCount(10), spread: ByteCount(4), pause: .microseconds(250)))),
        (.slicer, [10, 40, 0], .slice(Slice(size: ByteCount(10), spread: ByteCount(9)))),
        (.slicer, [0, 0, 0], nil),
        (.noop, [], nil),
    ]

    @Test(arguments: kinds.indices)
    func `a toxic is a fault`(index: Int) {
        let (type, values, kind) = ToxiproxyToxicTests.kinds[index]
        let fault = toxic(type, values).fault(named: "x")
        #expect(fault?.kind == kind)
        if let fault {
            #expect(fault.name == "x")
            #expect(fault.stream == .downstream)
            #expect(fault.condition == Condition())
        }
        #expect(toxic(type, values, stream: "Upstream").fault(named: "x")?.stream ?? .upstream == .upstream)
    }

    @Test func `a toxicity is a chance, and 0 is no fault`() {
        #expect(toxic(.timeout, [0], toxicity: 0).fault(named: "t") == nil)
        #expect(toxic(.timeout, [0], toxicity: -3).fault(named: "t") == nil)
        #expect(toxic(.timeout, [0], toxicity: 0.25).fault(named: "t")?.condition.chance == Probability(0.25))
        #expect(toxic(.timeout, [0], toxicity: 7).fault(named: "t")?.condition.chance == .always)
    }

    private static let problems: [(ToxicType, [Int64], Float, String)] = [
        (.latency, [-1, 0], 1, "latency must not be negative"),
        (.latency, [0, -1], 1, "jitter must not be negative"),
        (.bandwidth, [(1 << 53) + 1], 1, "rate must not be above 9007199254740992"),
        (.slicer, [0, 0, 0], 1, "average_size must be above 0"),
        (.noop, [], 1.5, "toxicity must be from 0 to 1"),
        (.noop, [], -0.1, "toxicity must be from 0 to 1"),
    ]

    @Test(arguments: problems.indices)
    func `values that Toxiproxy can't take are problems`(index: Int) {
        let (type, values, toxicity, problem) = ToxiproxyToxicTests.problems[index]
        #expect(toxic(type, values, toxicity: toxicity).problem == problem)
    }

    @Test func `values in range are none`() {
        #expect(toxic(.latency, [1 << 53, 0]).problem == nil)
        #expect(toxic(.noop, [], toxicity: 0).problem == nil)
    }

    @Test func `names that are taken get a number`() {
        var state = ManagedProxy.State(upstream: "", seed: 1)
        let fault = Fault(name: "t", kind: .outage(Outage(how: .silence)))
        state.base = Profile(name: "base", faults: [fault], phases: [Phase(name: "p", faults: [fault.renamed("t-2")])])
        state.extras = [.init(fault: fault)]
        state.toxics = [toxic(.timeout, [0]), toxic(.noop, [])]
        #expect(state.profile(of: "proxy").faults.map(\.name) == ["t", "t-3", "t-4"])
        let kinds = state.profile(of: "proxy").allFaults.map(\.kind.name.rawValue)
        #expect(kinds.sorted() == ["discard", "outage", "outage", "outage"])
    }
}

extension Fault {
    fileprivate func renamed(_ name: String) -> Fault {
        var fault = self
        fault.name = name
        return fault
    }
}
