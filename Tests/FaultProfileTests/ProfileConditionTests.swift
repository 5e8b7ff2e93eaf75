import FaultProfile
import Testing
import Units

/// `when` of a profile, which narrows all of its faults.
@Suite struct ProfileConditionTests {
    private func hosts(_ texts: String...) throws -> [HostPattern] {
        var hosts: [HostPattern] = []
        for text in texts { hosts.append(try HostPattern(parsing: text)) }
        return hosts
    }

    @Test func `narrows every fault, and leaves what a fault says itself`() throws {
        let read = try profile(
            """
            { "name": "x", "when": { "host": ["a", "b:1"], "connection": "1..2", "client": "10.0.0.0/8", "port": 80 },
              "faults": [ { "kind": "stall", "for": "1 s" },
                { "kind": "cut", "at": "1 B", "when": { "host": "c", "connection": 3, "chance": "5 %" } } ],
              "phases": [ { "name": "p", "faults": [ { "kind": "discard" } ] } ],
              "proxies": [ { "name": "q", "listen": "h:0", "upstream": "h:1",
                "faults": [ { "kind": "slice", "size": "1 B" } ],
                "phases": [ { "name": "r", "faults": [ { "kind": "half-open", "stream": "upstream", "at": "1 B" } ] } ] } ] }
            """
        )
        let clients = [try AddressRange(parsing: "10.0.0.0/8")]
        let all = Condition(
            connections: .range(1...2),
            clients: clients,
            hosts: try hosts("a", "b:1"),
            ports: [80...80]
        )
        let own = Condition(
            connections: .range(3...3),
            chance: try Probability(parsing: "5 %"),
            clients: clients,
            hosts: try hosts("c"),
            ports: [80...80]
        )
        #expect(read.allFaults.map(\.condition) == [all, own, all, all, all])
        #expect(try profile(ProfileWriter.text(of: read)) == read)
    }

    @Test func `narrows the faults of its base, and adds to the condition of the base`() throws {
        let sources = [
            "base.json": """
            { "name": "base", "when": { "host": "a", "connection": 1 }, "faults": [ { "kind": "stall", "for": "1 s" } ] }
            """,
            "x.json": """
            { "name": "x", "extends": "./base.json", "when": { "host": "b" }, "faults": [ { "kind": "cut", "at": "1 B" } ] }
            """,
        ]
        let read = try ProfileReader.profile(from: ProfileSource(file: "x.json", text: sources["x.json"] ?? "")) { _ in
            .success(ProfileSource(file: "base.json", text: sources["base.json"] ?? ""))
        }
        let wanted = Condition(connections: .range(1...1), hosts: try hosts("b"))
        #expect(read.faults.map(\.condition) == [wanted, wanted])
    }

    @Test func `narrows the faults of profiles that proxies name, after their own condition`() throws {
        let files = [
            "p.json": """
            { "name": "p", "when": { "host": "a", "connection": 1 },
              "proxies": [ { "name": "q", "listen": "h:0", "upstream": "h:1", "profile": "./own.json" },
                { "name": "r", "listen": "h:0", "upstream": "h:1", "profile": "./none.json" } ] }
            """,
            "own.json": """
            { "name": "own", "when": { "host": "b" }, "faults": [ { "kind": "stall", "for": "1 s" } ],
              "phases": [ { "name": "x", "faults": [ { "kind": "discard" } ] } ] }
            """,
            "none.json": #"{ "name": "none", "faults": [ { "kind": "cut", "at": "1 B" } ] }"#,
            "limit.json": #"{ "name": "limit", "faults": [ { "kind": "connection-limit", "limit": 3 } ] }"#,
        ]
        func read(_ text: String) throws -> Profile {
            try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text)) { reference in
                guard case .path(let path) = reference, let text = files[String(path.drop { "./".contains($0) })] else {
                    return .failure(ResolutionError(what: "there is none", remedy: "write one"))
                }
                return .success(ProfileSource(file: path, text: text))
            }
        }
        let text = files["p.json"] ?? ""
        let own = Condition(connections: .range(1...1), hosts: try hosts("b"))
        let outer = Condition(connections: .range(1...1), hosts: try hosts("a"))
        #expect(try read(text).allFaults.map(\.condition) == [own, own, outer])
        let error = #expect(throws: ProfileProblems.self) { try read(text.replacing("none.json", with: "limit.json")) }
        let description = error?.description ?? ""
        #expect(description.hasPrefix("p.json:1:16: the profile has a connection-limit fault"), "\(description)")
    }

    @Test func `has only keys that every fault can have, and can't narrow a connection-limit`() {
        let start = #"{ "name": "x", "when": "#
        #expect(
            problems(start + #"{ "after": "cut" } }"#).first?.hasPrefix("1:26: “when” of a profile has no key “after”")
                == true
        )
        #expect(problems(start + #"{ "host": "http://a" } }"#).count == 1)
        let limit = #"{ "host": "a" }, "faults": [ { "kind": "connection-limit", "limit": 3 } ] }"#
        #expect(problems(start + limit).first?.contains("counts every open connection") == true)
    }
}
