import Foundation
import Glibc
import TestStreams
import Testing

/// `squall plan`: its drawing, and the accuracy of its predictions.
@Suite(.timeLimit(.minutes(5))) struct PlanTests {
    /// The output of `plan --events json`, and the last line of `demo --events json`.
    private struct Figures: Decodable {
        var event: String
        var seconds: Double?
        var bytes: Int64?
        var connections: Int?
        var cuts: Int?
        var outcome: String?
        var resets: Int?
        var resumptions: Int?
    }

    private func predicted(_ arguments: [String]) async throws -> Figures {
        let outcome = try await squall(["plan"] + arguments + ["--events", "json"])
        #expect(outcome.status == 0)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.lines.count == 1)
        return try #require(try decoded(outcome.lines, as: Figures.self).first)
    }

    private func done(_ arguments: [String]) async throws -> Figures {
        let outcome = try await squall(["demo", "--direction", "downstream"] + arguments + ["--events", "json"])
        #expect(outcome.status == 0)
        let finished = outcome.lines.filter { $0.contains("\"event\":\"finished\"") }
        return try #require(try decoded(finished, as: Figures.self).first)
    }

    /// The demo of `make demo`, then smaller ones. A machine busy with other tests prolongs runs, so one of three must
    /// match. CPU-intensive ones must be long enough: the elevator ride continues after its shaft, and its client
    /// returns well after the last reset.
    @Test(arguments: [
        ["wifi-walkaway", "--size", "64MiB", "--seed", "7"], ["wifi-walkaway", "--size", "40MiB", "--seed", "3"],
        ["slow-3g", "--size", "150KiB", "--seed", "1"], ["elevator", "--size", "10MiB", "--seed", "4"],
    ])
    func `a demo takes the time that was predicted, within 10 %`(arguments: [String]) async throws {
        let plan = try await predicted(arguments)
        #expect(plan.outcome == "complete")
        let expected = try #require(plan.seconds)
        var taken: [Double] = []
        for _ in 0..<3 where !taken.contains(where: { abs($0 - expected) <= 0.1 * expected }) {
            let demo = try await done(arguments)
            #expect(plan.bytes == demo.bytes)
            taken.append(try #require(demo.seconds))
        }
        #expect(taken.contains { abs($0 - expected) <= 0.1 * expected }, "predicted \(expected) s, took \(taken) s")
    }

    @Test(arguments: [("9223372036854775807 bit/s", "10000000 Tbit/s"), ("12 bit/s", "15 bit/s")])
    func `a rate at the end of its range has an axis as any other`(rate: String, told: String) async throws {
        try await withFolder { folder in
            let text = #"{ "name": "x", "faults": [ { "kind": "bandwidth", "rate": "\#(rate)" } ] }"#
            try Data(text.utf8).write(to: folder.appendingPathComponent("p.json"))
            let plan = try await squall("plan", "p.json", "--size", "1B", "--svg", "p.svg", folder: folder)
            #expect(plan.status == 0 && plan.output.contains("\(told) ┤"), "\(plan.output)")
            let drawing = try String(contentsOf: folder.appendingPathComponent("p.svg"), encoding: .utf8)
            #expect(drawing.contains(">\(told)<"))
        }
    }

    @Test func `what is far above the capacity is drawn as full`() async throws {
        try await withFolder { folder in
            let text = """
                { "name": "x", "phases": [ { "name": "a", "for": "1 ms" }, { "name": "b", "for": "1 ms",
                  "faults": [ { "kind": "bandwidth", "rate": "1 bit/s" } ] } ] }
                """
            try Data(text.utf8).write(to: folder.appendingPathComponent("p.json"))
            let plan = try await squall("plan", "p.json", "--size", "16384GiB", "--svg", "p.svg", folder: folder)
            #expect(plan.status == 0 && plan.output.contains("│█"), "\(plan.output)")
            #expect(plan.output.contains("rates above 4 bit/s are cut off"))
        }
    }

    @Test func `where a profile changes too often the drawing ends, and says so`() async throws {
        try await withFolder { folder in
            let text = """
                { "name": "x", "repeat": true, "faults": [ { "kind": "bandwidth", "rate": "8 Mbit/s" } ],
                  "phases": [ { "name": "a", "for": "1 ms" }, { "name": "b", "for": "1 ms" } ] }
                """
            try Data(text.utf8).write(to: folder.appendingPathComponent("p.json"))
            let plan = try await squall("plan", "p.json", "--size", "20MB", "--svg", "p.svg", folder: folder)
            let omission = "what comes after 10.0 s isn't drawn: the profile changes too often"
            #expect(plan.status == 0 && plan.output.contains(omission), "\(plan.output)")
            #expect(try String(contentsOf: folder.appendingPathComponent("p.svg"), encoding: .utf8).contains(omission))
        }
    }

    @Test func `a prediction that takes too many steps says so`() async throws {
        try await withFolder { folder in
            let cuts = [String](repeating: #"{ "kind": "cut", "after": "99 h" }"#, count: 255)
            let rate = #"{ "kind": "bandwidth", "rate": "9 GB/s" }"#
            let text = "{ \"name\": \"x\", \"faults\": [ \(([rate] + cuts).joined(separator: ", ")) ] }"
            try Data(text.utf8).write(to: folder.appendingPathComponent("p.json"))
            let plan = try await squall("plan", "p.json", "--size", "16384GiB", folder: folder)
            #expect(plan.status == 0)
            #expect(plan.output.contains("predicted    given up after 16,000,000 steps, at "), "\(plan.output)")
        }
    }

    @Test func `the cuts of the demo are those that were predicted`() async throws {
        let arguments = ["cut-every-mebibyte", "--size", "5MiB", "--seed", "7"]
        let plan = try await predicted(arguments)
        let demo = try await done(arguments)
        #expect(plan.cuts == 5)
        #expect(demo.resumptions == 5)
        #expect(plan.connections == demo.connections)
    }

    @Test func `the drawing names the phases, the outage, the prediction and what it assumes`() async throws {
        let outcome = try await squall("plan", "wifi-walkaway", "--seed", "7")
        #expect(outcome.status == 0)
        for text in [
            "wifi-walkaway: Walking out of Wi-Fi range, and back", "A download of 64 MiB with seed 7", "│in the room ",
            "100 Mbit/s ┤", "     0 ┼──", "outage  ", "delay\n", "1  in the room, 3 s: 80 Mbit/s; 4 ms ± 2 ms",
            "3  gone, 2 s: outage by refuse", "█ arrives   · may pass at most   x outage by refuse",
            "predicted    complete after 11.", "1 reset by an outage",
            "assumed      ",
        ] {
            #expect(outcome.output.contains(text), "\(text)")
        }
        #expect(outcome.lines.allSatisfy { $0.count <= 80 })
    }

    @Test func `a fault for a host is left out of the prediction, which says so`() async throws {
        try await withFolder { folder in
            let text = """
                { "name": "p", "faults": [ { "kind": "latency", "delay": "1 h", "when": { "host": "*.example" } } ] }
                """
            try Data(text.utf8).write(to: folder.appendingPathComponent("p.json"))
            let plan = try await squall("plan", "p.json", "--size", "1KiB", folder: folder)
            for text in ["always: latency 1 h, to *.example", "predicted    complete at once", "no faults for hosts"] {
                #expect(plan.output.contains(text), "\(plan.output)")
            }
            let bare = try await squall("plan", "--latency", "1ms", "--size", "1KiB", folder: folder)
            #expect(!bare.output.contains("no faults for hosts"))
        }
    }

    @Test func `a transfer that can't succeed is told as such`() async throws {
        let dead = try await squall("plan", "dead-server", "--seed", "1")
        #expect(dead.status == 0)
        #expect(dead.output.contains("the client gives up after"))
        let endless = try await squall("plan", "slow-3g", "--size", "1GiB", "--until", "10 s", "--seed", "1")
        #expect(endless.output.contains("not complete after 10.0 s"))
        #expect(endless.status == 0)
        let strict = try await squall(
            words: "plan slow-3g --size 1GiB --until \("10 s") --seed 1 --fail-unless-complete"
        )
        #expect(strict.status == 1)
        #expect(strict.errors.contains("squall: the transfer isn't predicted to complete: not complete after 10.0 s"))
        let complete = try await squall("plan", "slow-3g", "--size", "1KiB", "--seed", "1", "--fail-unless-complete")
        #expect(complete.status == 0 && complete.errors.isEmpty)
    }

    @Test(arguments: Repository.profiles)
    func `every shipped profile can be drawn`(name: String) async throws {
        try await withFolder { folder in
            let picture = folder.appendingPathComponent("plan.svg")
            let outcome = try await squall("plan", name, "--size", "4MiB", "--seed", "1", "--svg", picture.path)
            #expect(outcome.status == 0)
            #expect(outcome.output.contains("predicted    "))
            let document = ParsedXML(try String(contentsOf: picture, encoding: .utf8))
            #expect(document.problem == nil)
            #expect(!document["title"].isEmpty && document["desc"].count == 1)
            #expect(document["script"].isEmpty, "a picture runs nothing")
        }
    }

    @Test func `a picture is well-formed whatever the profile is called, adapts to the dark, and loads nothing`()
        async throws
    {
        try await withFolder { folder in
            let profile = """
                { "name": "a <b> & \\"c\\" ]]>", "summary": "\\u0000\\uFFFF -->",
                  "phases": [ { "name": "<script>alert(1)</script>", "for": "1 s",
                    "faults": [ { "kind": "bandwidth", "rate": "1 Mbit/s" }, { "kind": "outage", "how": "silence" } ] },
                    { "name": "fine" } ] }
                """
            try Data(profile.utf8).write(to: folder.appendingPathComponent("odd.json"))
            let outcome = try await squall("plan", "odd.json", "--size", "1KiB", "--svg", "odd.svg", folder: folder)
            #expect(outcome.status == 0)
            let text = try String(contentsOf: folder.appendingPathComponent("odd.svg"), encoding: .utf8)
            let document = ParsedXML(text)
            #expect(document.problem == nil)
            #expect(document["script"].isEmpty)
            #expect(text.contains("@media screen and (prefers-color-scheme: dark)"))
            #expect(text.contains("role=\"img\""))
            #expect(!text.replacing("http://www.w3.org/2000/svg", with: "").contains("http"))
        }
    }

    @Test(arguments: [("unix:/run/app:8443", 0.0, true), ("tls:server.example:8443", 2.0, false)])
    func `the port of the only proxy's server decides, and a Unix socket has none`(
        upstream: String,
        seconds: Double,
        isUnknown: Bool
    ) async throws {
        try await withFolder { folder in
            let text = """
                { "name": "p", "proxies": [ { "name": "a", "listen": "127.0.0.1:0", "upstream": "\(upstream)" } ],
                  "faults": [ { "kind": "latency", "delay": "1 s", "when": { "port": 8443 } } ] }
                """
            try Data(text.utf8).write(to: folder.appendingPathComponent("p.json"))
            let plan = try await squall("plan", "p.json", "--size", "1KiB", "--format", "text", folder: folder)
            #expect(plan.status == 0 && plan.output.contains("no faults for ports") == isUnknown, "\(plan.output)")
            let json = try await squall("plan", "p.json", "--size", "1KiB", "--events", "json", folder: folder)
            #expect(try decoded(json.lines, as: Figures.self).first?.seconds == seconds)
        }
    }

    /// The texts of a profile's picture, and the whole document.
    private func picture(_ name: String, size: String) async throws -> (texts: [String], whole: String) {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("plan.svg")
            let outcome = try await squall("plan", name, "--size", size, "--seed", "7", "--svg", file.path)
            #expect(outcome.status == 0)
            let whole = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            return (whole.matches(of: #/<text[^>]*>([^<]*)</#).map { String($0.1) }, whole)
        }
    }

    @Test(arguments: ["wifi-drop", "nlc-edge", "wifi-walkaway"])
    func `no line of a picture is wider than the picture`(name: String) async throws {
        let texts = try await picture(name, size: "100MiB").texts
        #expect(texts.first == name, "the heading is the name alone")
        // 844 px have room for as many letters of 12 px and average width.
        #expect(texts.allSatisfy { $0.count <= 140 })
    }

    @Test func `time is marked at round figures`() async throws {
        // 77.3 s and 58 min.
        #expect(try await picture("wifi-drop", size: "100MiB").texts.contains("70 s"))
        let texts = try await picture("nlc-edge", size: "100MiB").texts
        #expect(texts.filter { $0.hasSuffix(" min") } == ["10 min", "20 min", "30 min", "40 min", "50 min"])
    }

    @Test func `where there is no rate, there is no axis of rates`() async throws {
        let free = try await picture("wpt-native", size: "4MiB").texts
        #expect(!free.contains { $0.hasSuffix("bit/s") })
        #expect(free.contains { $0.hasSuffix("complete at once") })
        let dead = try await picture("dead-server", size: "4MiB").texts
        #expect(!dead.contains { $0.hasSuffix("bit/s") })
    }

    @Test func `an outage of a pixel's width can be seen`() async throws {
        let whole = try await picture("wifi-busy", size: "100MiB").whole
        #expect(
            whole.matches(of: #/class="outage [a-z]+ short"[^>]*width="([0-9.]+)"/#).allSatisfy {
                Double($0.1) ?? 0 >= 1.5
            }
        )
        let capacity = try #require(whole.firstRange(of: "class=\"capacity\""))
        let outage = try #require(whole.firstRange(of: #/class="outage [a-z]+ short"/#))
        #expect(capacity.lowerBound < outage.lowerBound, "it lies on the capacity")
    }

    private struct Document: Decodable {
        struct Point: Decodable {
            var begin: Double
            var bytes: Int64?
            var rate: Double?
            var capacity: Double?
        }
        struct Mark: Decodable {
            var begin: Double
            var count: Int?
            var name: String
        }
        var interval: Double
        var points: [Point]
        var marks: [Mark]
        var legend: [String]
    }

    @Test(arguments: [
        (["LC_ALL": "C"], true), (["LC_ALL": "", "LC_CTYPE": "POSIX", "LANG": "C.UTF-8"], true),
        (["LC_ALL": "C.UTF-8", "TERM": "dumb"], false), (["LC_ALL": "", "LC_CTYPE": "", "LANG": ""], false),
    ])
    func `in a pipe a plan is ASCII if the locale has nothing else`(
        environment: [String: String],
        isASCII: Bool
    ) async throws {
        let arguments = ["plan", "wifi-walkaway", "--size", "16MiB", "--seed", "7", "--columns", "80"]
        let outcome = try await squall(arguments, environment: environment)
        #expect(outcome.status == 0)
        #expect(outcome.output.utf8.allSatisfy { $0 < 0x80 } == isASCII)
        #expect(outcome.output.contains("█") != isASCII && outcome.output.contains("# arrives") == isASCII)
    }

    @Test(arguments: [("dumb", "C.UTF-8", true), ("xterm", "C", true), ("xterm", "C.UTF-8", false)])
    func `on a terminal a plan is ASCII if that shows nothing else`(
        term: String,
        locale: String,
        isASCII: Bool
    ) async throws {
        let terminal = try PseudoTerminal()
        let script = "exec \"$0\" plan busy-cell --size 1MiB --seed 7 >\(terminal.path)"
        let arguments = ["-c", script, Programs.squall.path]
        let environment = ["TERM": term, "LC_ALL": locale]
        let outcome = try await withChild(Programs.find("sh"), arguments, environment: environment) {
            await $0.finish()
        }
        #expect(outcome.status == 0)
        terminal.hangUp()
        let text = await terminal.shown.text()
        #expect(text.contains("arrives"))
        #expect(text.utf8.allSatisfy { $0 < 0x80 } == isASCII)
    }

    @Test func `as JSON a plan has a point for each 100 ms`() async throws {
        let options = ["--size", "2MiB", "--seed", "7", "--format", "json"]
        let outcome = try await squall(["plan", "busy-cell"] + options)
        #expect(outcome.status == 0 && outcome.lines.count == 1)
        let plan = try #require(try decoded(outcome.lines, as: Document.self).first)
        #expect(plan.interval == 0.1 && plan.points[7].begin == 0.7)
        #expect(plan.points.last?.bytes == 2 << 20)
        #expect(plan.points.allSatisfy { $0.capacity != nil && $0.rate != nil })
        #expect(plan.legend == ["arrives", "may pass at most", "added delay"])
    }

    @Test func `the journal of a run is drawn over the phases of its profile`() async throws {
        try await withFolder { folder in
            let journal = folder.appendingPathComponent("journal.jsonl")
            let capture = folder.appendingPathComponent("run.pcapng").path
            let profile = """
                { "name": "cuts", "faults": [ { "kind": "cut", "stream": "downstream", "at": "5 KB" } ],
                  "phases": [ { "name": "at first", "for": "20 s" }, { "name": "later" } ] }
                """
            try await withOrigin(size: 200_000) { origin in
                try await withProxy(profile, to: origin, ["--journal", journal.path, "--seed", "7", "--pcap", capture])
                { proxy, address in
                    for _ in 0..<3 {
                        _ = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                    }
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
            }
            let outcome = try await squall("plan", "--journal", journal.path, "--svg", "run.svg", folder: folder)
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            for text in [
                "The journal of proxy “proxy”, downstream, with seed 7", "│at first", "lost", "▼ a connection ends",
                "connections  3 with events", "3 × cut resets",
            ] {
                #expect(outcome.output.contains(text), "\(text) in \(outcome.output)")
            }
            #expect(!outcome.output.contains("times count from its first event"))
            let drawing = try String(contentsOf: folder.appendingPathComponent("run.svg"), encoding: .utf8)
            #expect(drawing.contains(">at first</text>"))
            let json = try await squall("plan", "--journal", journal.path, "--format", "json")
            let plan = try #require(try decoded(json.lines, as: Document.self).first)
            // On a busy machine they are too far apart for one mark.
            #expect(plan.marks.map { $0.count ?? 0 }.reduce(0, +) == 3 && plan.marks.allSatisfy { $0.name == "lost" })
            #expect(plan.points.allSatisfy { $0.rate == nil })
            try Data(profile.utf8).write(to: folder.appendingPathComponent("cuts.json"))
            let captured = try await squall("plan", "cuts.json", "--pcap", capture, folder: folder)
            for text in ["The capture “", "△ a connection is opened", "faults       3\n", "3 × cut resets"] {
                #expect(captured.output.contains(text), "\(text) in \(captured)")
            }
            #expect(!captured.output.contains("times count from"), "\(captured.output)")
        }
    }

    @Test(arguments: [
        ([], "there is no fault to inject: name a profile"),
        (["--journal", "x", "--seed", "1"], "--journal shows a run that happened"),
        (["slow-3g", "--columns", "59"], "--columns is from 60 to 500"),
        (["slow-3g", "--format", "json", "--events", "json"], "leave out one"),
        (["--journal", "/dev/null"], "can't read the journal"),
        (["slow-3g", "--pcap", "/dev/null"], "can't read the capture"),
        (["slow-3g", "--pcap", "/etc/hostname"], "has no packet of a client: write it with squall run --pcap"),
        (["slow-3g", "--pcap", "x", "--name", "y"], "--pcap shows a run that happened"),
        (["slow-3g", "--pcap", "x", "--journal", "y"], "leave out one"),
        (["--pcap", "x"], "there is no fault to inject"),
    ])
    func `a plan of nothing, or of too much, is exit 2`(options: [String], message: String) async throws {
        let outcome = try await squall(["plan"] + options)
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
    }

    @Test(arguments: [60, 80, 200]) func `the text is as wide as asked for`(columns: Int) async throws {
        let outcome = try await squall("plan", "elevator", "--seed", "7", "--columns", "\(columns)")
        #expect(outcome.lines.map(\.count).max() == columns)
    }

    @Test func `a picture that can't be written is exit 2 and one line`() async throws {
        let outcome = try await squall("plan", "slow-3g", "--size", "1KiB", "--svg", "/nowhere/plan.svg")
        #expect(outcome.status == 2)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains("can't write “/nowhere/plan.svg”"))
    }

    @Test func `a picture for which the disk has no room is exit 1`() async throws {
        let options = ["plan", "slow-3g", "--size", "1KiB", "--svg", "/dev/full"]
        let outcome = try await squall(options)
        #expect(outcome.status == 1)
        #expect(outcome.errors == "squall: can't write “/dev/full”: No space left on device (write, errno 28)\n")
    }
}
