import Testing
import Units

@testable import FaultProfile

@Suite struct TriggerReadingTests {
    private func condition(_ when: String) throws -> Condition {
        let text = """
            { "name": "x", "faults": [ { "kind": "cut", "name": "first", "at": "1 B" },
                { "kind": "stall", "for": "1 s", "when": \(when) } ] }
            """
        return try #require(try profile(text).faults.last?.condition)
    }

    private func range(_ text: String) throws -> AddressRange { try AddressRange(parsing: text) }

    @Test func `every trigger is read as it is written`() throws {
        #expect(try condition(#"{ "client": "10.0.0.0/8" }"#) == Condition(clients: [range("10.0.0.0/8")]))
        #expect(
            try condition(#"{ "client": ["::1", "127.0.0.1"] }"#)
                == Condition(clients: [range("::1"), range("127.0.0.1")])
        )
        #expect(
            try condition(#"{ "host": ["a.example", "*.B.example"] }"#)
                == Condition(hosts: [HostPattern(parsing: "a.example"), HostPattern(parsing: "*.b.example")])
        )
        #expect(try condition(#"{ "host": "A" }"#) == Condition(hosts: [HostPattern(parsing: "a")]))
        #expect(
            try condition(#"{ "connection": { "number": "1..2", "per": "target" } }"#)
                == Condition(connections: .perTarget(.range(1...2)))
        )
        #expect(
            try condition(#"{ "program": ["curl", "/bin/sh"] }"#)
                == Condition(programs: [ProgramPattern(parsing: "curl"), ProgramPattern(parsing: "/bin/sh")])
        )
        #expect(try condition(#"{ "port": 443 }"#) == Condition(ports: [443...443]))
        #expect(
            try condition(#"{ "port": [80, "8000..8999", "65535..65535", "1024.."] }"#)
                == Condition(ports: [80...80, 8_000...8_999, 65_535...65_535, 1_024...65_535])
        )
        #expect(try condition(#"{ "clock": "5 s" }"#) == Condition(clock: ClockWindow(from: .seconds(5))))
        #expect(try condition(#"{ "clock": "..10 s" }"#) == Condition(clock: ClockWindow(until: .seconds(10))))
        #expect(
            try condition(#"{ "clock": "5 s..10 s" }"#)
                == Condition(clock: ClockWindow(from: .seconds(5), until: .seconds(10)))
        )
        #expect(
            try condition(#"{ "duty": { "on": "2 s", "off": "8 s" } }"#)
                == Condition(duty: DutyCycle(on: .seconds(2), off: .seconds(8)))
        )
        #expect(
            try condition(#"{ "duty": { "on": "2 s", "off": "8 s", "offset": "1 s" } }"#)
                == Condition(duty: DutyCycle(on: .seconds(2), off: .seconds(8), offset: .seconds(1)))
        )
        #expect(try condition(#"{ "after": "first" }"#) == Condition(after: "first"))
    }

    @Test func `the clock alone decides where nothing else is said`() throws {
        #expect(try condition(#"{ "clock": "5 s", "duty": { "on": "2 s", "off": "8 s" } }"#).isOnClockAlone)
        #expect(Condition().isOnClockAlone)
        for when in [#"{ "age": "5 s" }"#, #"{ "client": "::1" }"#, #"{ "after": "first" }"#, #"{ "connection": 1 }"#] {
            #expect(try !condition(when).isOnClockAlone, "\(when)")
        }
    }

    @Test(arguments: [
        (
            #""client": "localhost""#,
            "2:45: “localhost” is not an IP address or a block of them (write one such as “192.0.2.7”, “10.0.0.0/8” "
                + "or “fd00::/8”, without a name or a port)"
        ),
        (
            #""client": ["::1", "10.1.0.0/8"]"#,
            "2:53: “10.1.0.0/8” has bits behind its prefix of 8 (write “10.0.0.0/8” for the block, or “10.1.0.0” for "
                + "the one address)"
        ),
        (
            #""host": "https://a""#,
            "2:43: “https://a” is not the name of a host (write one such as “example.com”, “*.example.com” or "
                + "“localhost:3000”, without a scheme)"
        ),
        (#""client": []"#, "2:45: “client” is an empty list (write an address, or delete the key)"),
        (
            #""client": true"#,
            "2:45: “client” is an address, not true or false (write “\"10.0.0.0/8\"”, or a list of such)"
        ),
        (
            #""client": [7]"#,
            "2:46: “client” is an address, not a number (write “\"10.0.0.0/8\"”, or a list of such)"
        ),
        (#""port": 0"#, "2:43: “port” can't be 0 (write a whole number from 1 to 65535, without quotes)"),
        (#""port": 65536"#, "2:43: “port” can't be 65536 (write a whole number from 1 to 65535, without quotes)"),
        (
            #""port": "443""#,
            "2:43: “443” is not a range of ports (write 443, “8000..8999”, “1024..” or a list of such)"
        ),
        (
            #""port": [80, "0..9"]"#,
            "2:48: “0..9” is not a range of ports (write 443, “8000..8999”, “1024..” or a list of such)"
        ),
        (#""port": "90..80""#, "2:43: the range “90..80” ends before it begins (write “80..90”)"),
        (
            #""port": { "every": 3 }"#,
            "2:43: “port” is a port or a range of ports, not an object (write 443, “8000..8999”, “1024..” or a list "
                + "of such)"
        ),
        (#""port": []"#, "2:43: “port” is an empty list (write a port, or delete the key)"),
        (
            #""program": "bin/curl""#,
            "2:46: “bin/curl” is not a program (write its name, such as “curl”, or its path from the root, such as "
                + "“/usr/bin/curl”)"
        ),
        (
            #""connection": { "number": 1, "per": "host" }"#,
            "2:71: “host” is not a value of “per” (its values are “target”)"
        ),
        (
            #""connection": { "number": 1 }"#,
            "2:49: “connection” per target needs the key “per” (add “\"per\": \"target\"”)"
        ),
        (#""clock": "5""#, "2:44: “5” has no unit (write “5 ms” or “5 s”)"),
        (
            #""clock": "..""#,
            "2:44: “..” is not a time (write “5 s” (from then on), “5 s..10 s” or “..10 s”)"
        ),
        (
            #""clock": "9 s..5 s""#,
            "2:44: the time “9 s..5 s” ends where it begins, or before (write the smaller time first)"
        ),
        (#""duty": { "on": "1 s" }"#, "2:43: “duty” needs the key “off” (add “\"off\": \"250 ms\"”)"),
        (
            #""duty": { "on": "0 s", "off": "1 s" }"#,
            "2:51: “on” is zero (write a duration above zero, such as “250 ms”)"
        ),
        (
            #""duty": { "on": "1 s", "of": "1 s", "off": "1 s" }"#,
            "2:58: “duty” has no key “of” (write “on” or “off”)"
        ),
        (#""after": 3"#, "2:44: “after” is a text, not a number (write it in double quotes)"),
        (
            #""after": "sevr""#,
            "2:44: the profile has no fault “sevr” (write “sever”)"
        ),
        (
            #""after": "nothing like it""#,
            "2:44: the profile has no fault “nothing like it” (write the name of a fault: “sever”)"
        ),
        (
            #""after": "stall""#,
            "2:44: the fault “stall” comes after itself, so it never comes (write the name of another fault)"
        ),
    ])
    func `a mistake in a trigger is named with its place`(member: String, problem: String) {
        let text = """
            { "name": "x", "faults": [ { "kind": "cut", "name": "sever", "at": "1 B" },
            { "kind": "stall", "for": "1 s", "when": { \(member) } } ] }
            """
        // The column of the value, as if the line began three further left.
        let expected = problem.replacing(/^2:(\d+)/) { match in "2:\((Int(match.1) ?? 0) + 9)" }
        #expect(problems(text) == [expected])
    }

    @Test func `too many addresses are a problem`() {
        let list = (0...ProfileLimits.triggerValues).map { "\"10.0.0.\($0)\"" }.joined(separator: ", ")
        let text = "{ \"kind\": \"stall\", \"for\": \"1 s\", \"when\": { \"client\": [\(list)] } }"
        #expect(problems(fault: text).first?.hasSuffix("there are more than 64 addresses (delete some)") == true)
    }

    @Test(arguments: [
        #""faults": [ { "kind": "cut", "name": "crash" }, { "kind": "stall", "for": "1 s", "when": { "after": "crash" } } ]"#,
        #""phases": [ { "for": "1 s", "faults": [ { "kind": "cut", "name": "crash", "at": "1 B" } ] } ], "#
            + #""faults": [ { "kind": "stall", "for": "1 s", "when": { "after": "crash" } } ]"#,
        #""extends": "none", "faults": [ { "kind": "stall", "for": "1 s", "when": { "after": "crash" } } ]"#,
    ])
    func `a name that may be that of a fault with a problem is no problem of its own`(members: String) {
        #expect(problems("{ \"name\": \"x\", \(members) }").count == 1)
    }

    @Test func `faults that wait for each other are a problem, told once`() {
        func fault(_ name: String, after: String) -> String {
            #"{ "kind": "stall", "name": "\#(name)", "for": "1 s", "when": { "after": "\#(after)" } }"#
        }
        let faults = [fault("a", after: "b"), fault("b", after: "c"), fault("c", after: "a"), fault("d", after: "a")]
        let found = problems("{ \"name\": \"x\", \"faults\": [\n\(faults.joined(separator: ",\n")) ] }")
        let what = "2:66: the fault “a” comes after “b”, after “c”, after “a”: a circle, so none of them ever comes"
        #expect(found == ["\(what) (delete “after” in one of them)"])
    }

    @Test func `a fault can come after one of a phase, or of a base, by the name that it was given`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "stall", "for": "1 s", "when": { "after": "gone/outage" } },
                { "kind": "cut", "at": "1 B" }, { "kind": "cut", "at": "9 B", "when": { "after": "cut" } },
                { "kind": "cut", "at": "5 B", "when": { "after": "cut-2" } } ],
              "phases": [ { "name": "gone", "faults": [ { "kind": "outage", "how": "reset" } ] } ] }
            """
        #expect(try profile(text).faults.compactMap(\.condition.after) == ["gone/outage", "cut", "cut-2"])
    }

    @Test func `a phase may vary by less than its length`() throws {
        let text = #"{ "name": "x", "phases": [ { "name": "p", "for": "4 s", "jitter": "1 s" } ] }"#
        #expect(try profile(text).phases == [Phase(name: "p", duration: .seconds(4), jitter: .seconds(1))])
        #expect(
            problems(#"{ "name": "x", "phases": [ { "name": "p", "for": "4 s", "jitter": "4 s" } ] }"#)
                == ["1:67: the jitter, 4 s, is not below what it is a part of, 4 s (write less than “for”)"]
        )
        #expect(
            problems(#"{ "name": "x", "phases": [ { "name": "p", "jitter": "4 s" } ] }"#) == [
                "1:53: a phase that lasts for ever has no “jitter” "
                    + "(delete it, or say how long the phase lasts: add “\"for\": \"5 s\"”)"
            ]
        )
    }
}
