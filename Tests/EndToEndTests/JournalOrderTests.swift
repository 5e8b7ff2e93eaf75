import Foundation
import Glibc
import Testing

/// `squall journal`: journals that compare by text.
@Suite(.timeLimit(.minutes(5))) struct JournalOrderTests {
    private static let header = #"{"digest":"x","event":"journal","profile":{},"proxies":[],"time":"T","version":"1"}"#

    private func sorted(_ lines: [String], _ options: [String] = ["--sort"]) async throws -> Outcome {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("journal.jsonl")
            try Data(([Self.header] + lines).map { $0 + "\n" }.joined().utf8).write(to: path)
            return try await squall(["journal", path.path] + options)
        }
    }

    private static let faults = """
        { "name": "busy", "faults": [
            { "kind": "latency", "delay": "1 ms" },
            { "kind": "bandwidth", "rate": "40 Mbit/s", "shared": true },
            { "kind": "corrupt", "stream": "downstream", "rate": "0.002 %" },
            { "kind": "stall", "stream": "downstream", "at": "60 KB", "for": "3 ms" },
            { "kind": "cut", "stream": "downstream", "between": ["120 KB", "190 KB"], "when": { "chance": "50 %" } } ] }
        """

    /// The journal of six connections at a time.
    private func record(to journal: URL, _ origin: String) async throws {
        try await withProxy(Self.faults, to: origin, ["--journal", journal.path, "--seed", "7", "--threads", "4"]) {
            proxy,
            address in
            let url = "http://\(address)/file.bin"
            let together = ["-s", "-Z", "--parallel-max", "6", "--parallel-immediate", "-H", "Connection: close"]
            _ = try await run("curl", together + (1...6).flatMap { _ in ["-o", "/dev/null", url] })
            proxy.signal(SIGINT)
            #expect(await proxy.finish().status == 0)
        }
    }

    @Test func `twenty sorted journals of one seed under load, six connections at a time, are equal but for times`()
        async throws
    {
        try await withFolder { folder in
            try await withOrigin(size: 200_000) { origin in
                var texts: Set<String> = []
                // Four at a time are the load.
                for round in 0..<5 {
                    texts.formUnion(
                        try await withThrowingTaskGroup(of: String.self) { group in
                            for run in 0..<4 {
                                group.addTask {
                                    let journal = folder.appendingPathComponent("\(round)-\(run).jsonl")
                                    try await record(to: journal, origin)
                                    let shown = try await squall("journal", "--sort", "--no-times", journal.path)
                                    #expect(shown.status == 0)
                                    #expect(shown.lines.count > 30)
                                    return shown.output
                                }
                            }
                            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
                        }
                    )
                }
                #expect(texts.count == 1)
            }
        }
    }

    @Test func `a sorted journal has the same lines and is a journal, for sorting and for shrinking`() async throws {
        try await withFolder { folder in
            try await withOrigin(size: 200_000) { origin in
                let recording = folder.appendingPathComponent("a.jsonl")
                let sorted = folder.appendingPathComponent("b.jsonl")
                try await record(to: recording, origin)
                let shown = try await squall("journal", "--sort", recording.path)
                try Data(shown.output.utf8).write(to: sorted)
                let original = try String(contentsOf: recording, encoding: .utf8)
                #expect(shown.lines.sorted() == original.split(separator: "\n").map(String.init).sorted())
                #expect(try await squall("journal", "--sort", sorted.path).output == shown.output)
                let shrink = try await squall("shrink", sorted.path, "--", "true", folder: folder)
                #expect(shrink.errors.contains("the command doesn't fail with all"), "\(shrink.errors)")
            }
        }
    }

    @Test func `lines are sorted by proxy, connection, direction, request and offset, whatever their order was`()
        async throws
    {
        let order = [
            #"{"fault":"gone","proxy":"a","time":"9","what":"refuses"}"#,
            #"{"connection":2,"fault":"late","proxy":"a","time":"8","what":"connects late"}"#,
            #"{"connection":2,"direction":"upstream","fault":"rate","proxy":"a","time":"7","what":"limits"}"#,
            #"{"connection":2,"direction":"downstream","fault":"rate","proxy":"a","time":"6","what":"limits"}"#,
            #"{"connection":2,"direction":"downstream","fault":"z","offset":5,"proxy":"a","time":"5","what":"corrupts"}"#,
            #"{"connection":2,"direction":"downstream","fault":"a","offset":40,"proxy":"a","time":"4","what":"resets"}"#,
            #"{"connection":10,"direction":"upstream","fault":"a","proxy":"a","time":"3","what":"limits"}"#,
            #"{"connection":1,"direction":"upstream","fault":"a","proxy":"b","time":"2","what":"limits"}"#,
            #"{"event":"omitted","fault":"a","lines":3,"proxy":"a","time":"1"}"#,
        ]
        #expect(try await sorted(order.reversed()).lines == [Self.header] + order)
        #expect(try await sorted(order.reversed(), []).lines == [Self.header] + order.reversed())
    }

    @Test func `numbers of processes are left out with the times`() async throws {
        let line = #"{"event":"connect","outcome":"connected","pid":811,"program":"psql","proxy":"a","time":"1"}"#
        let shown = try await sorted([line], ["--no-times"])
        #expect(shown.lines.last == #"{"event":"connect","outcome":"connected","program":"psql","proxy":"a"}"#)
    }

    @Test func `lines about another profile keep their place, and times are left out on request`() async throws {
        let (first, second) = (
            #"{"connection":1,"fault":"a","proxy":"a","time":"9","what":"limits"}"#,
            #"{"connection":2,"fault":"a","proxy":"a","time":"8","what":"limits"}"#
        )
        let change = #"{"digest":"y","event":"profile","generation":2,"profile":{"name":"n"},"time":"5"}"#
        let shown = try await sorted([second, first, change, second, first], ["--sort", "--no-times"])
        let lines = [Self.header, first, second, change, first, second]
        #expect(shown.lines == lines.map { $0.replacing(/,"time":"[^"]*"/, with: "") })
    }

    @Test func `a damaged line is named, a torn one left out`() async throws {
        let damaged = try await sorted(["{}", "oops"])
        #expect(damaged.status == 2)
        #expect(damaged.errors.contains("journal.jsonl:3: this is no line of a journal"), "\(damaged.errors)")
        try await withFolder { folder in
            let path = folder.appendingPathComponent("torn.jsonl")
            try Data((Self.header + "\n{\"proxy\":").utf8).write(to: path)
            let torn = try await squall("journal", path.path)
            #expect(torn.status == 0 && torn.lines == [Self.header])
            #expect(torn.errors.contains("torn off"))
            try Data("{}\n".utf8).write(to: path)
            let headless = try await squall("journal", path.path)
            #expect(headless.status == 2 && headless.errors.contains("doesn't begin with a journal's header"))
        }
    }
}
