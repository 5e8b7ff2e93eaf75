import Testing
import Units

@testable import FaultProfile

/// What is always on in one direction.
private struct Path: Equatable {
    var bitsPerSecond: Int64?
    var delay = Duration.zero
    var jitter = Duration.zero
    /// The packets lost, and the round trip that their repair goes by.
    var loss = Probability.never
    var roundTrip = Duration.zero

    init() {}

    init(_ faults: [Fault], _ stream: StreamSelection) {
        for fault in faults where fault.stream == .both || fault.stream == stream {
            if case .bandwidth(let bandwidth) = fault.kind { bitsPerSecond = bandwidth.rate.bitsPerSecond }
            if case .latency(let latency) = fault.kind {
                delay += latency.delay
                jitter += latency.jitter
            }
            if case .loss(let loss) = fault.kind { (self.loss, roundTrip) = (loss.rate, loss.roundTrip) }
        }
    }
}

@Suite struct PresetTests {
    private static func read(_ name: String) throws -> Profile {
        func source(_ name: String) throws -> ProfileSource {
            let path = "Profiles/presets/\(name).json"
            return ProfileSource(file: path, bytes: try Repository.bytes(of: path))
        }
        return try ProfileReader.profile(from: source(name)) { reference in
            guard case .shipped(let base) = reference, let source = try? source(base) else {
                return .failure(ResolutionError(what: "there is no such preset", remedy: "extend another"))
            }
            return .success(source)
        }
    }

    /// What a row of a table says, by its name.
    private func expected(_ table: PresetTable) throws -> [(name: String, down: Path, up: Path)] {
        try table.rows.split(separator: "\n").map { row in
            let words = row.split(separator: " ")
            let name = "\(table.tool)-\(try #require(words.first))"
            let rates = words[1...2].map { word in Double(word).map { Int64(($0 * table.kilo).rounded()) } }
            let delays = words[3...].compactMap { Double($0) }
            var (down, up) = (Path(), Path())
            (down.bitsPerSecond, up.bitsPerSecond) = (rates[0], rates[1])
            switch table.delay {
            case .oneWay:
                down.delay = .nanoseconds(Int64(delays[0] * 1e6))
                up.delay = .nanoseconds(Int64(delays[1] * 1e6))
            case .roundTrip:
                down.delay = .nanoseconds(Int64(delays[0] * 5e5))
                up.delay = down.delay
            case .drawnRoundTrip:
                // Two draws from middle/2 ± width/2 add up to one from the lower to the upper figure.
                down.delay = .nanoseconds(Int64((delays[0] + delays[1]) * 2.5e5))
                down.jitter = .nanoseconds(Int64((delays[1] - delays[0]) * 2.5e5))
                (up.delay, up.jitter) = (down.delay, down.jitter)
            }
            if delays.count == 4 {
                down.loss = Probability(delays[2] / 100) ?? .never
                up.loss = Probability(delays[3] / 100) ?? .never
                if down.loss > .never { down.roundTrip = down.delay + up.delay }
                if up.loss > .never { up.roundTrip = down.delay + up.delay }
            }
            return (name, down, up)
        }
    }

    @Test(arguments: PresetTable.all.indices)
    func `the presets of a tool have the figures that the tool publishes`(index: Int) throws {
        for (name, down, up) in try expected(PresetTable.all[index]) {
            let profile = try PresetTests.read(name)
            #expect(Path(profile.faults, .downstream) == down, "\(name), downstream")
            #expect(Path(profile.faults, .upstream) == up, "\(name), upstream")
        }
    }

    @Test func `every preset is in a table, and every row is a preset`() throws {
        let named = try PresetTable.all.flatMap { try expected($0).map(\.name) }
        #expect(Set(named).count == named.count)
        #expect(Set(named).union(PresetTable.others) == Set(Repository.presets))
        #expect(Repository.presets.count > 80)
    }

    @Test(arguments: Repository.presets)
    func `every preset is named as its file, feels like a line, and tells its source`(name: String) throws {
        let profile = try PresetTests.read(name)
        #expect(profile.name == name)
        #expect((10...100).contains(profile.summary.count))
        #expect(profile.summary.allSatisfy { !$0.isNewline })
        #expect(profile.source.count > 40)
        #expect(!Repository.shippedProfiles.contains(name), "one name, one profile")
    }

    @Test func `rates are shared by all connections, as a network's are`() throws {
        for name in Repository.presets {
            let profile = try PresetTests.read(name)
            for fault in profile.faults + profile.phases.flatMap(\.faults) {
                if case .bandwidth(let bandwidth) = fault.kind { #expect(bandwidth.scope == .proxy, "\(name)") }
            }
        }
    }

    @Test func `the set for Wi-Fi says that its figures are defaults, and loses packets as it says`() throws {
        for name in Repository.presets where name.hasPrefix("wifi-") {
            #expect(try PresetTests.read(name).source.hasPrefix("Engineering defaults, not measured values."))
        }
        let table: [(name: String, percent: Double, burst: Int, milliseconds: Int64)] = [
            ("wifi-good", 0.01, 1, 4), ("wifi-busy", 0.5, 3, 30), ("wifi-edge", 3, 5, 60),
            ("wifi-handover", 0.1, 2, 10),
        ]
        for row in table {
            let losses = try PresetTests.read(row.name).faults.compactMap { fault -> Loss? in
                if case .loss(let loss) = fault.kind { loss } else { nil }
            }
            let rate = try #require(Probability(row.percent / 100))
            let expected = Loss(rate: rate, burst: row.burst, roundTrip: .milliseconds(row.milliseconds))
            #expect(losses == [expected], "\(row.name)")
        }
    }

    @Test func `a source belongs to its own file only`() throws {
        let base = ProfileSource(file: "base.json", text: #"{ "name": "base", "source": "a table", "summary": "S" }"#)
        let own = ProfileSource(file: "own.json", text: #"{ "name": "own", "extends": "base" }"#)
        let profile = try ProfileReader.profile(from: own) { _ in .success(base) }
        #expect(profile.summary == "S")
        #expect(profile.source.isEmpty)
        #expect(
            problems(#"{ "name": "x", "source": 7 }"#) == [
                "1:26: “source” is a text, not a number (write it in double quotes)"
            ]
        )
    }

    @Test func `the outages of presets are what they are called`() throws {
        #expect(try PresetTests.read("chrome-offline").faults.map(\.kind) == [.outage(Outage(how: .refuse))])
        #expect(try PresetTests.read("nlc-100-percent-loss").faults.map(\.kind) == [.outage(Outage(how: .silence))])
        let hole = try PresetTests.read("quic-blackhole")
        #expect(hole.phases.map(\.duration) == [.seconds(5), .seconds(2)] && hole.repeats)
        #expect(hole.phases[1].faults.map(\.kind) == [.outage(Outage(how: .silence))])
    }
}
