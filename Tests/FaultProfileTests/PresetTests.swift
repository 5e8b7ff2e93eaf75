import Testing
import Units

@testable import FaultProfile

/// The presets that a row of figures describes, and what holds for all.
@Suite struct PresetTests {
    /// What a row of a table says, by its name.
    private func expected(_ table: PresetTable) throws -> [(name: String, down: PresetPath, up: PresetPath)] {
        try table.rows.split(separator: "\n").map { row in
            let words = row.split(separator: " ")
            let rates = words[1...2].map { word in Double(word).map { $0 * table.kilo } }
            let delays = words[3...].prefix { Double($0) != nil }.compactMap { Double($0) }
            let jitter = try figures("jitter", of: words)
            let loss = try figures("loss", of: words)
            var paths = (down: PresetPath(), up: PresetPath())
            if let rate = rates[0] { paths.down.limit(toBitsPerSecond: rate) }
            if let rate = rates[1] { paths.up.limit(toBitsPerSecond: rate) }
            let roundTrip: Double
            switch table.delay {
            case .oneWay:
                try #require(delays.count == 2)
                roundTrip = delays[0] + delays[1]
                paths.down.delay(by: delays[0], jitter: jitter.down)
                paths.up.delay(by: delays[1], jitter: jitter.up)
            case .roundTrip:
                try #require(delays.count == 1)
                roundTrip = delays[0]
                paths.down.delay(by: roundTrip / 2)
                paths.up.delay(by: roundTrip / 2)
            case .drawnRoundTrip:
                // Two draws from middle/2 ± width/2 add up to one from the lower to the upper figure.
                try #require(delays.count == 2)
                roundTrip = (delays[0] + delays[1]) / 2
                paths.down.delay(by: roundTrip / 2, jitter: (delays[1] - delays[0]) / 4)
                paths.up.delay(by: roundTrip / 2, jitter: (delays[1] - delays[0]) / 4)
            }
            paths.down.lose(percent: loss.down, roundTrip: roundTrip)
            paths.up.lose(percent: loss.up, roundTrip: roundTrip)
            return ("\(table.tool)-\(try #require(words.first))", paths.down, paths.up)
        }
    }

    /// The two figures behind a word of a row; zeros where the word isn't there.
    private func figures(_ word: String, of words: [Substring]) throws -> (down: Double, up: Double) {
        guard let place = words.firstIndex(of: word[...]) else { return (0, 0) }
        return (try #require(Double(words[place + 1])), try #require(Double(words[place + 2])))
    }

    @Test(arguments: PresetTable.all.indices)
    func `the presets of a tool have the figures that the tool publishes, and nothing else`(index: Int) throws {
        for (name, down, up) in try expected(PresetTable.all[index]) {
            let profile = try preset(name)
            #expect(PresetPath(profile.faults, .downstream) == down, "\(name), downstream")
            #expect(PresetPath(profile.faults, .upstream) == up, "\(name), upstream")
            #expect(profile.faults.allSatisfy { $0.condition == Condition() }, "\(name)")
            #expect(profile.phases.isEmpty != PresetTable.phased.contains(name), "\(name)")
        }
    }

    @Test(arguments: PresetTable.all.indices)
    func `the line of a preset says nothing that its row doesn't`(index: Int) throws {
        for (name, down, up) in try expected(PresetTable.all[index]) {
            let summary = try preset(name).summary
            for match in summary.matches(of: #/([0-9.]+) ([kM])bit/s( down| up| each way)?/#) {
                let (number, kilo) = (try #require(Double(match.1)), match.2 == "k" ? 1_000.0 : 1_000_000)
                let paths = match.3 == " down" ? [down] : match.3 == " up" ? [up] : [down, up]
                for path in paths {
                    let rate = Double(try #require(path.bandwidth).rate.bitsPerSecond)
                    #expect(abs(number * kilo - rate) < rate / 1_000, "\(name): \(summary)")
                }
            }
            for match in summary.matches(of: #/([0-9.]+) % lost/#) {
                #expect(down.loss?.rate == Probability(try #require(Double(match.1)) / 100), "\(name): \(summary)")
            }
            let delays = [down.latency?.delay ?? .zero, up.latency?.delay ?? .zero]
            for match in summary.matches(of: #/([0-9.]+)( ± [0-9]+)? ms (each way|round trip)/#) {
                let sum = match.3 == "each way" ? [delays[0] * 2, delays[1] * 2] : [delays[0] + delays[1]]
                let milliseconds = try #require(Double(match.1)) * (match.3 == "each way" ? 2 : 1)
                let isDrawn = down.latency?.jitter ?? .zero > .zero && match.2 == nil
                if !isDrawn { #expect(sum.allSatisfy { $0 == .microseconds(Int(milliseconds * 1e3)) }, "\(summary)") }
            }
        }
    }

    @Test func `every preset is in a table, and every row is a preset`() throws {
        let means = PresetTable.means.split(separator: "\n").compactMap { row in
            row.split(separator: " ").first.map { "mahimahi-\($0)" }
        }
        let named = try PresetTable.all.flatMap { try expected($0).map(\.name) } + means + PresetTable.others
        #expect(Set(named).count == named.count)
        #expect(Set(named) == Set(Repository.presets))
        #expect(named.count == 135)
    }

    @Test(arguments: Repository.presets)
    func `every preset has its name, feels like a line, and tells its source`(name: String) throws {
        let profile = try preset(name)
        #expect(profile.name == name)
        #expect((10...100).contains(profile.summary.count))
        #expect(profile.summary.allSatisfy { !$0.isNewline })
        #expect(profile.source.count > 40)
        #expect(!Repository.shippedProfiles.contains(name), "one name, one profile")
    }

    @Test func `rates are shared by all connections, as a network's are`() throws {
        for name in Repository.presets {
            let profile = try preset(name)
            for fault in profile.faults + profile.phases.flatMap(\.faults) {
                if case .bandwidth(let bandwidth) = fault.kind { #expect(bandwidth.scope == .proxy, "\(name)") }
            }
        }
    }

    @Test func `figures that nobody has confirmed say so, in the list and in the source`() throws {
        for name in ["nlc-wifi", "nlc-wifi-ac"] {
            let profile = try preset(name)
            #expect(profile.summary.hasSuffix("; unverified"))
            #expect(profile.source.contains("Its rates are unverified"))
        }
        for name in Repository.presets where name.hasPrefix("wifi-") && !PresetTable.measured.contains(name) {
            #expect(try preset(name).source.hasPrefix("Engineering defaults, not measured values."))
        }
    }

    @Test func `a failure of TLS is one fault, and no two are alike`() throws {
        let faults = try PresetTable.tls.sorted().map { name in
            let profile = try preset(name)
            #expect(profile.faults.count == 1 && profile.phases.isEmpty)
            return profile.faults[0].kind
        }
        #expect(faults.allSatisfy { if case .tls = $0 { true } else { false } })
        #expect(Set(faults).count == faults.count)
    }

    @Test(arguments: PresetTable.measured.sorted())
    func `a measured Wi-Fi names who measured, says which figures are none of theirs, and loses nothing`(name: String)
        throws
    {
        let profile = try preset(name)
        #expect(profile.source.hasPrefix("Figures of the publication named here."))
        #expect(profile.source.contains("https://") || profile.source.contains("INFOCOM 2005"))
        #expect(profile.source.contains("Engineering defaults: "))
        for fault in profile.faults + profile.phases.flatMap(\.faults) {
            if case .loss = fault.kind { Issue.record("retries are delays, not loss") }
        }
    }

    @Test func `a preset that loses packets says what a byte proxy makes of it`() throws {
        for name in Repository.presets where !name.hasPrefix("wifi-") {
            let profile = try preset(name)
            let loses = profile.faults.contains { if case .loss = $0.kind { true } else { false } }
            #expect(profile.source.contains("a virtual CUBIC sender") == loses, "\(name)")
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
}
