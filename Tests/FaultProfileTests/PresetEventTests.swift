import Testing
import Units

@testable import FaultProfile

/// The presets in which something happens: outages, freezes, fading, a slow name server, a trace.
@Suite struct PresetEventTests {
    /// What a preset does to both directions, always and in one of its phases.
    private func paths(_ name: String, phase: Int? = nil) throws -> [PresetPath] {
        let profile = try preset(name)
        let faults = profile.faults + (phase.map { profile.phases[$0].faults } ?? [])
        return [PresetPath(faults, .downstream), PresetPath(faults, .upstream)]
    }

    /// Two directions with rates in Mbit/s, downstream and upstream, and half of a round trip and of its jitter each.
    private func wifi(
        _ rates: (Double, Double),
        roundTrip: Double,
        jitter: Double = 0,
        _ distribution: Latency.Distribution = .uniform,
        percent: Double = 0,
        burst: Int = 1
    ) -> [PresetPath] {
        [rates.0, rates.1].map { rate in
            var path = PresetPath()
            path.limit(toBitsPerSecond: rate * 1_000_000)
            path.delay(by: roundTrip / 2, jitter: jitter / 2, distribution)
            path.lose(percent: percent, burst: burst, roundTrip: roundTrip)
            return path
        }
    }

    /// The milliseconds of each phase, those of a silence as negative numbers; 0 is for ever.
    private func course(_ name: String) throws -> [Double] {
        try preset(name).phases.map { phase in
            let silence = phase.faults.contains { fault in
                if case .outage(let outage) = fault.kind { outage.how == .silence } else { false }
            }
            return ((phase.duration ?? .zero) / .milliseconds(1)) * (silence ? -1 : 1)
        }
    }

    @Test func `a café has the delays of a log-normal tail, and four freezes a minute`() throws {
        let expected = wifi((8, 3), roundTrip: 30, jitter: 25, .logNormal, percent: 0.5, burst: 3)
        #expect(try paths("wifi-busy") == expected)
        let course = try course("wifi-busy")
        let freezes = course.filter { $0 < 0 }.map { -$0 }
        #expect(freezes.sorted() == [100, 200, 250, 300])
        #expect((55_000...65_000).contains(course.map(abs).reduce(0, +)))
        #expect(try preset("wifi-busy").repeats)
    }

    @Test func `the far room goes from 6 down to half a megabit, and freezes twice a minute`() throws {
        let course = try course("wifi-edge")
        #expect(course.filter { $0 < 0 } == [-2_000, -500])
        #expect(course.map(abs).reduce(0, +) == 60_000)
        let rates: [(phase: Int, rate: Double)] = [(0, 2), (1, 6), (3, 0.5), (4, 2)]
        for (phase, rate) in rates {
            let expected = wifi((rate, 1), roundTrip: 60, jitter: 60, percent: 3, burst: 5)
            #expect(try paths("wifi-edge", phase: phase) == expected, "phase \(phase)")
        }
        #expect(try preset("wifi-edge").repeats)
    }

    @Test func `a roam is fast or full in turn, each after 30 s`() throws {
        #expect(try paths("wifi-handover") == wifi((20, 10), roundTrip: 10, jitter: 5, percent: 0.1, burst: 2))
        #expect(try course("wifi-handover") == [30_000, -80, 30_000, -1_500])
        #expect(try preset("wifi-handover").repeats)
    }

    @Test func `who walks out fades within 5 s, is away, and comes back with new connections`() throws {
        #expect(try course("wifi-drop") == [10_000, 2_000, 2_000, 1_000, -29_000, 1_000, 0])
        #expect(try paths("wifi-drop", phase: 0) == wifi((20, 10), roundTrip: 10))
        #expect(try paths("wifi-drop", phase: 1) == wifi((8, 4), roundTrip: 50, percent: 2, burst: 6))
        #expect(try paths("wifi-drop", phase: 2) == wifi((2, 1), roundTrip: 150, percent: 8, burst: 6))
        #expect(try paths("wifi-drop", phase: 3) == wifi((0.25, 0.125), roundTrip: 300, percent: 20, burst: 6))
        #expect(try paths("wifi-drop", phase: 6) == wifi((20, 10), roundTrip: 10))
        let profile = try preset("wifi-drop")
        #expect(profile.phases[5].faults.map(\.kind) == [.outage(Outage(how: .reset))])
        #expect(!profile.repeats)
    }

    @Test func `the tunnel is 20 s of a minute, with WebPageTest's LTE around it`() throws {
        #expect(try paths("wifi-tunnel") == wifi((12, 12), roundTrip: 70))
        #expect(try course("wifi-tunnel") == [40_000, -20_000])
        let tunnel = Outage(how: .silence, recovery: .tcpBackoff(roundTrip: .milliseconds(70)))
        #expect(try preset("wifi-tunnel").phases[1].faults.map(\.kind) == [.outage(tunnel)])
    }

    @Test func `the captive portal resets before the first byte of the answer`() throws {
        let faults = try preset("wifi-captive-portal").faults
        #expect(faults.map(\.stream) == [.downstream])
        #expect(faults.map(\.kind) == [.cut(Cut(position: .at(.zero), how: .reset))])
    }

    /// The quantiles of the delay that a preset has downstream, in milliseconds; it has none upstream.
    private func delays(_ name: String) throws -> [Double] {
        let paths = try paths(name)
        #expect(paths[1].latency == nil)
        let latency = try #require(paths[0].latency)
        #expect(latency.delay == .zero)
        guard case .quantiles(let table) = latency.distribution else { return [] }
        return table.map { $0 / .milliseconds(1) }
    }

    @Test func `a campus has the median and the tail that were measured there`() throws {
        let delays = try delays("wifi-campus")
        try #require(delays.count == 101)
        #expect([delays[50], delays[90], delays[99]] == [3, 20, 250])
        #expect(try #require(paths("wifi-campus")[0].latency).correlation == Probability(0.99))
    }

    @Test func `a crowded channel has the delays of one study, and the airtime of another`() throws {
        let delays = try delays("wifi-crowded")
        try #require(delays.count == 11)
        #expect([delays[5], delays[9]] == [20, 100])
        // Others use 20 % to 50 % of a channel of 20 Mbit/s down and 10 up.
        for (path, empty) in zip(try paths("wifi-crowded"), [20.0, 10.0]) {
            let low = BitRate(bitsPerSecond: Int64(empty * 0.5e6))
            let high = BitRate(bitsPerSecond: Int64(empty * 0.8e6))
            let wave = Bandwidth.Variation.wave(high: high, period: .seconds(20))
            #expect(path.bandwidth == Bandwidth(rate: low, scope: .proxy, variation: wave))
        }
    }

    @Test func `a slow neighbour takes 88 % of what all stations get`() throws {
        let slow = Bandwidth.Step(after: .seconds(20), rate: BitRate(bitsPerSecond: 2_140_000))
        let rate = BitRate(bitsPerSecond: 17_760_000)
        for path in try paths("wifi-slow-neighbour") {
            let variation = Bandwidth.Variation.steps([slow], repeats: .seconds(30))
            #expect(path.bandwidth == Bandwidth(rate: rate, scope: .proxy, variation: variation))
        }
    }

    @Test func `handovers and scans are silent for as long as was measured, and then go on`() throws {
        #expect(try course("wifi-handover-fast") == [10_000, -8.5, 10_000, -34])
        #expect(try course("wifi-handover-full") == [10_000, -400, 10_000, -600, 10_000, -1_050])
        #expect(try course("wifi-scan") == [5_000, -704, 296, -92, 63_908])
        #expect(try course("wifi-rejoin") == [10_000, 100, -5_000, 10_000, 100, -10_000])
        for name in ["wifi-handover-fast", "wifi-handover-full", "wifi-scan", "wifi-rejoin"] {
            #expect(try preset(name).repeats)
        }
        let lost = Outage(how: .silence, recovery: .tcpBackoff(roundTrip: .milliseconds(10)))
        for phase in [1, 3, 5] {
            #expect(try preset("wifi-handover-full").phases[phase].faults.map(\.kind) == [.outage(lost)])
        }
        for phase in [1, 4] {
            #expect(try preset("wifi-rejoin").phases[phase].faults.map(\.kind) == [.outage(Outage(how: .reset))])
        }
    }

    @Test func `the far room has retries as a tail of delays, and freezes of half a second to two`() throws {
        #expect(try course("wifi-far") == [28_000, -1_250])
        #expect(try preset("wifi-far").phases.map(\.jitter) == [.seconds(10), .milliseconds(750)])
        for path in try paths("wifi-far") {
            let latency = try #require(path.latency)
            #expect(latency.distribution == .pareto && latency.correlation == Probability(0.8))
            #expect(path.loss == nil)
        }
    }

    @Test func `the outages of presets are what they are called`() throws {
        #expect(try preset("chrome-offline").faults.map(\.kind) == [.outage(Outage(how: .refuse))])
        #expect(try preset("nlc-100-percent-loss").faults.map(\.kind) == [.outage(Outage(how: .silence))])
        #expect(try course("quic-blackhole") == [5_000, -2_000])
        #expect(try !preset("quic-blackhole").repeats)
    }

    @Test func `a slow name server holds back the first byte of a client, and says that it is only like it`() throws {
        let profile = try preset("nlc-high-latency-dns")
        #expect(profile.faults.map(\.kind) == [.stall(Stall(at: .zero, duration: .milliseconds(3_000)))])
        #expect(profile.faults.map(\.stream) == [.upstream])
        #expect(profile.source.contains("A proxy sees no look-ups"))
    }

    @Test func `the traces of mahimahi carry the means of its recordings, evenly`() throws {
        for row in PresetTable.means.split(separator: "\n") {
            let words = row.split(separator: " ")
            let faults = try preset("mahimahi-\(words[0])").faults
            #expect(faults.map(\.stream) == [.downstream, .upstream])
            #expect(faults.map(\.name) == ["downstream", "upstream"], "a recording can take the place of each")
            for (fault, word) in zip(faults, words.dropFirst()) {
                guard case .trace(let trace) = fault.kind else {
                    Issue.record("\(row) has a trace")
                    continue
                }
                let milliseconds = Double(try #require(trace.opportunities.last))
                let megabits = Double(trace.opportunities.count) * 1_500 * 8 / milliseconds / 1_000
                #expect(abs(megabits - (try #require(Double(word)))) < 0.000_001, "\(row): \(megabits)")
                let gap = milliseconds / Double(trace.opportunities.count)
                let isEven = trace.opportunities.enumerated().allSatisfy { index, time in
                    (0..<1).contains(Double(time) - gap * Double(index + 1) + 0.000_001)
                }
                #expect(isEven, "\(row)")
            }
        }
    }

    @Test func `the line of a trace has its means`() throws {
        for row in PresetTable.means.split(separator: "\n") where !row.hasPrefix("12mbit") {
            let words = row.split(separator: " ")
            let profile = try preset("mahimahi-\(words[0])")
            #expect(profile.summary.contains("\(words[1]) Mbit/s down, \(words[2]) Mbit/s up"))
            #expect(profile.source.contains("\(words[1]) Mbit/s down and \(words[2]) up"))
        }
    }
}
