import FaultProfile
import Testing

/// Warnings about valid profiles.
@Suite struct ProfileDoubtTests {
    private static let rate = #"{ "kind": "bandwidth", "rate": "1 Mbit/s" }"#

    /// The warnings about a profile, without its file's name.
    private func doubts(_ text: String) throws -> [String] {
        let source = ProfileSource(file: "p.json", text: text)
        let profile = try ProfileReader.profile(from: source) { _ in
            .success(ProfileSource(file: "base.json", text: #"{ "name": "base" }"#))
        }
        return ProfileReader.doubts(about: profile, from: source).map(\.description)
    }

    /// A profile of three phases with a rate in the first and the last; `middle` has the faults of the second.
    private func phases(_ middle: String, always: String = "") -> String {
        """
        { "name": "p", "faults": [ \(always) ], "phases": [
          { "name": "a", "for": "1 s", "faults": [ \(ProfileDoubtTests.rate) ] },
          { "name": "b", "for": "1 s", "faults": [ \(middle) ] },
          { "name": "c", "for": "1 s", "faults": [ \(ProfileDoubtTests.rate) ] } ] }
        """
    }

    @Test func `a phase without a rate between phases with one is told with its place`() throws {
        #expect(
            try doubts(phases(#"{ "kind": "latency", "delay": "1 ms" }"#)) == [
                "p.json:3:3: warning: the phase “b” has no rate, between phases with one: it is unlimited "
                    + "(give it a “bandwidth” fault; 10 Gbit/s is as good as none)"
            ]
        )
    }

    @Test func `a phase with a rate in one direction lacks the other`() throws {
        let doubts = try doubts(phases(#"{ "kind": "slow-reader", "stream": "downstream", "rate": "1 Mbit/s" }"#))
        #expect(doubts.count == 1 && doubts[0].contains("has no rate upstream, "), "\(doubts)")
    }

    @Test(arguments: [
        (rate, ""), (#"{ "kind": "outage", "how": "silence" }"#, ""), (#"{ "kind": "discard" }"#, ""), ("", rate),
    ])
    func `a phase with a rate of its own or of the profile, or without a network, is fine`(
        middle: String,
        always: String
    ) throws {
        #expect(try doubts(phases(middle, always: always)) == [])
    }

    @Test func `the first and the last phase may be without a rate`() throws {
        let text = """
            { "name": "p", "phases": [
              { "name": "a", "for": "1 s" },
              { "name": "b", "for": "1 s", "faults": [ \(ProfileDoubtTests.rate) ] },
              { "name": "c", "for": "1 s" } ] }
            """
        #expect(try doubts(text) == [])
    }

    @Test(arguments: [("reset", "outage"), ("silence", "outage"), ("close", "traffic")])
    func `a cut at 0 B that begins later spares open connections, and the remedy doesn't`(
        how: String,
        remedy: String
    ) throws {
        let cut = #"{ "kind": "cut", "at": "0 B", "how": "\#(how)" }"#
        let within = try doubts(
            #"{ "name": "p", "phases": [ { "name": "a", "for": "1 s" }, { "name": "b", "faults": [ \#(cut) ] } ] }"#
        )
        #expect(within.count == 1)
        #expect(within.first?.hasPrefix("p.json:1:") == true)
        #expect(within.first?.contains("the cut “b/cut” at 0 B spares connections that are open") == true)
        #expect(within.first?.contains(remedy) == true)
        let timed = cut.dropLast(2) + #", "when": { "clock": "5 s" } }"#
        #expect(try doubts(#"{ "name": "p", "faults": [ \#(timed) ] }"#).count == 1)
        #expect(try doubts(#"{ "name": "p", "faults": [ \#(cut) ] }"#) == [])
    }

    @Test func `a global rate that another proxy has under another name is a warning`() throws {
        func text(_ first: String, _ second: String) -> String {
            let rate = #""kind": "bandwidth", "rate": "1 Mbit/s", "per": "global""#
            return """
                { "name": "p", "proxies": [
                  { "name": "a", "listen": "127.0.0.1:0", "upstream": "h:1", "faults": [ { \(first)\(rate) } ] },
                  { "name": "b", "listen": "127.0.0.1:0", "upstream": "h:1", "faults": [ { \(second)\(rate) } ] } ] }
                """
        }
        #expect(
            try doubts(text("", "")) == [
                "p.json:3:74: warning: the global rate “b/bandwidth” isn't shared with “a/bandwidth”, which has another "
                    + "name (give both faults one “name”)"
            ]
        )
        let named = #""name": "link", "#
        #expect(try doubts(text(named, named)) == [])
        #expect(try doubts(text(named, "")).count == 1)
        #expect(try doubts(text("", "").replacing("global", with: "proxy")) == [])
        let (up, down) = (#""stream": "upstream", "#, #""stream": "downstream", "#)
        #expect(try doubts(text(up, down)) == [])
        #expect(try doubts(text(up, "")).count == 1)
    }

    @Test func `a global rate is a warning wherever its proxy has it, and for the first if the others share`() throws {
        func rate(_ name: String) -> String {
            #"{ "kind": "bandwidth", "name": "\#(name)", "rate": "1 Mbit/s", "per": "global" }"#
        }
        func proxy(_ name: String, _ parts: String) -> String {
            #"{ "name": "\#(name)", "listen": "127.0.0.1:0", "upstream": "h:1", \#(parts) }"#
        }
        func told(_ parts: String...) throws -> [String] {
            let proxies = zip(["a", "b", "c"], parts).map { proxy($0, $1) }
            return try doubts("{ \"name\": \"p\", \"proxies\": [\n\(proxies.joined(separator: ",\n")) ] }")
        }
        func faults(_ name: String) -> String { #""faults": [ \#(rate(name)) ]"# }
        func phases(_ name: String) -> String { #""phases": [ { "name": "q", \#(faults(name)) } ]"# }
        func profile(_ parts: String) -> String { #""profile": { "name": "o", \#(parts) }"# }
        for second in [faults("y"), phases("y"), profile(faults("y")), profile(phases("y"))] {
            let doubts = try told(phases("x"), second)
            #expect(doubts.count == 1 && doubts[0].hasPrefix("p.json:3:"), "\(doubts)")
            #expect(doubts.first?.contains("“y” isn't shared with “x”") == true, "\(doubts)")
            let shared = second.replacing("\"y\"", with: "\"x\"")
            #expect(try told(phases("x"), shared) == [])
        }
        let first = try told(faults("x"), faults("y"), faults("y"))
        #expect(first.count == 1 && first[0].hasPrefix("p.json:2:"), "\(first)")
        #expect(first.first?.contains("“x” isn't shared with “y”") == true)
    }

    @Test func `a part that another file may have has no place`() throws {
        let cut = #"{ "kind": "cut", "at": "0 B", "when": { "clock": "5 s" } }"#
        let doubts = try doubts(#"{ "name": "p", "extends": "./base.json", "faults": [ \#(cut) ] }"#)
        #expect(doubts.count == 1 && doubts[0].hasPrefix("p.json: warning: "), "\(doubts)")
    }
}
