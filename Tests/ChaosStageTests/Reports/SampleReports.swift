import ChaosStage

/// Reports to test with, the same each time.
enum SampleReports {
    /// Draws numbers from 0 up to 1, the same ones each time.
    struct Dice {
        private var state: UInt64

        init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

        mutating func next() -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(state >> 40) / Double(1 << 24)
        }
    }

    /// Text with every sign that a format could take for its own.
    static let hostile =
        "</script><img src=x onerror=alert(1)> & \"q\" 'a' `b` ``c`` | # % :: , \\ ]]> --> @x [l](http://e/) *s* _u_ "
        + "\u{1b}[31mred\u{1b}[0m \u{7} \u{0} \u{202e} \u{fffe} \u{85} %\u{301} #\u{301} \"\u{301} end"

    static func stage(_ runs: [RunReport], name: String = "download survives Wi-Fi") -> StageReport {
        StageReport(
            name: name,
            command: ["python3", "-m", "pytest", "tests/test_download.py", "--url", "{origin}"],
            version: "1.0.0",
            began: "2026-03-14T15:09:26Z",
            duration: runs.map(\.measurements.time).reduce(.zero, +),
            runs: runs,
            expectations: ["exit == 0", "waste < 5 %", "faults >= 3"]
        )
    }

    /// A walk out of the range of Wi-Fi and back, of 14 s. With reasons the client doesn't come back.
    static func walk(seed: UInt64, reasons: [String] = []) -> RunReport {
        var (dice, timeline) = (Dice(seed), Timeline())
        let phases = [
            ("in the room", 0, 4_000), ("at the door", 4_000, 7_000), ("gone", 7_000, 10_000), ("back", 10_000, 14_000),
        ]
        for (name, start, end) in phases {
            timeline.add(
                Timeline.Phase(proxy: "origin", name: name, start: .milliseconds(start), end: .milliseconds(end))
            )
        }
        var (down, up): (Int64, Int64) = (0, 0)
        for index in 1...140 {
            let rate =
                index <= 40 ? 40.0 : index <= 70 ? 1.5 + 3 * dice.next() : index < 108 || !reasons.isEmpty ? 0 : 36.0
            let bytes = Int64(rate * (0.85 + 0.15 * dice.next()) * 12_500)
            let asked = bytes / 60 + (index == 1 || (index == 108 && reasons.isEmpty) ? 800 : 0)
            (down, up) = (down + bytes, up + asked)
            timeline.add(.init(time: .milliseconds(100 * index), upstream: asked, downstream: bytes))
        }
        for index in 0..<6 {
            let time = 4_200 + Int(2_600 * dice.next()) / 6 + index * 440
            let text = "connection 1, downstream: at the door/loss drops a segment at \(20_000_000 + index * 123_456)"
            timeline.add(Timeline.Mark(time: .milliseconds(time), kind: .fault, text: text))
        }
        let outage = "connection 1: gone/outage takes the network away"
        timeline.add(Timeline.Mark(time: .milliseconds(7_000), kind: .fault, text: outage))
        if reasons.isEmpty {
            let request = "connection 2: GET /file from 21,123,456"
            timeline.add(Timeline.Mark(time: .milliseconds(10_800), kind: .resumption, text: request))
        }
        timeline.duration = .milliseconds(14_000)
        var proxy = Measurements.Proxy(name: "origin")
        (proxy.upstream, proxy.downstream) = (up, down)
        (proxy.connections, proxy.resumptions) = reasons.isEmpty ? (2, 1) : (1, 0)
        proxy.faults = ["loss": 6, "outage": 1]
        let exit: Int32 = reasons.isEmpty ? 0 : 1
        return RunReport(
            profile: "wifi-walkaway",
            seed: seed,
            began: .zero,
            ending: .exit(exit),
            measurements: Measurements(
                exit: Int64(exit),
                time: .milliseconds(14_000),
                proxies: [proxy],
                reference: [33_200_000]
            ),
            reasons: reasons,
            notes: reasons.isEmpty ? [] : ["1 fault still fails it: gone/outage, connection 1"],
            replay: "squall test --profile wifi-walkaway --seed \(seed) --upstream 127.0.0.1:8000 --expect "
                + "'exit == 0 && waste < 5 %' -- python3 -m pytest tests/test_download.py --url {origin}",
            output: reasons.isEmpty
                ? "1 passed in 13.71s\n"
                : "tests/test_download.py F\n\n    download(origin, file)\nE   ConnectionResetError: "
                    + "[Errno 104] Connection reset by peer\n\u{1b}[31m1 failed\u{1b}[0m in 13.82s\n",
            droppedOutput: reasons.isEmpty ? 0 : 12_345,
            timeline: timeline
        )
    }

    /// Two proxies with phases of their own, uploads as large as downloads, stopped at the time limit.
    static func services(seed: UInt64) -> RunReport {
        var (dice, timeline) = (Dice(seed), Timeline())
        for index in 0..<4 {
            let (start, end) = (index * 15_000, index * 15_000 + 15_000)
            let name = index.isMultiple(of: 2) ? "steady" : "congested, as in the evening"
            timeline.add(
                Timeline.Phase(proxy: "postgres", name: name, start: .milliseconds(start), end: .milliseconds(end))
            )
        }
        for (name, start, end) in [("up", 0, 22_000), ("failover", 22_000, 29_000), ("up", 29_000, 60_000)] {
            timeline.add(
                Timeline.Phase(proxy: "redis", name: name, start: .milliseconds(start), end: .milliseconds(end))
            )
        }
        var proxies = ["postgres", "redis"].map { Measurements.Proxy(name: $0) }
        for index in 1...600 {
            let share = ((index - 1) / 150).isMultiple(of: 2) ? 1.0 : 0.25
            let down = Int64((9_000 + 4_000 * dice.next()) * share)
            let up = Int64((7_000 + 5_000 * dice.next()) * share)
            proxies[index % 2].downstream += down
            proxies[index % 2].upstream += up
            timeline.add(.init(time: .milliseconds(100 * index), upstream: up, downstream: down))
        }
        for index in 0..<60 {
            let text = "connection \(index), upstream: congested/latency delays 4,096 bytes by 250 ms"
            timeline.add(Timeline.Mark(time: .milliseconds(15_000 + 240 * index), kind: .fault, text: text))
        }
        timeline.duration = .seconds(60)
        proxies[0].connections = 16
        proxies[1].connections = 4
        proxies[0].faults = ["latency": 60]
        return RunReport(
            profile: "congested, failover",
            seed: seed,
            began: .seconds(3),
            ending: .timeLimit(.seconds(60)),
            measurements: Measurements(exit: 137, time: .seconds(60), proxies: proxies),
            reasons: ["the command was stopped at the time limit of 60 s", "expected “exit == 0”: exit is 137"],
            replay: "squall test services.json --seed \(seed)",
            output: "starting vacuum...end.\nprogress: 5.0 s, 312.4 tps, lat 12.801 ms stddev 3.2, 0 failed\n",
            droppedOutput: 0,
            timeline: timeline
        )
    }

    /// An hour with as many samples, phases and marks as a timeline holds, and all the output that a report holds.
    static func hour(seed: UInt64, reasons: [String] = ["expected “resumptions >= 1”: resumptions is 0"]) -> RunReport {
        var (dice, timeline) = (Dice(seed), Timeline())
        let names = ["home Wi-Fi", "stairs", "street, LTE", "underground", "platform", "office Wi-Fi"]
        for index in 0..<Timeline.phaseLimit {
            timeline.add(
                Timeline.Phase(
                    proxy: "api",
                    name: names[index % names.count],
                    start: .seconds(18 * index),
                    end: .seconds(18 * index + 18)
                )
            )
        }
        var proxy = Measurements.Proxy(name: "api")
        for index in 1...36_000 {
            let level = [40.0, 6, 18, 0, 9, 60][index / 180 % 6]
            let bytes = Int64(level * dice.next() * 12_500)
            proxy.downstream += bytes
            proxy.upstream += bytes / 8
            timeline.add(.init(time: .milliseconds(100 * index), upstream: bytes / 8, downstream: bytes))
        }
        var times = (0..<Timeline.markLimit + 100).map { _ in Int(3_600_000 * dice.next()) }
        times.sort()
        for (index, time) in times.enumerated() {
            let kind: Timeline.Mark.Kind = index.isMultiple(of: 4) ? .resumption : .fault
            let text =
                kind == .fault
                ? "connection \(index), downstream: underground/cut resets at \(index * 65_536)"
                : "connection \(index): GET /v1/photos/\(index) from \(index * 65_536)"
            timeline.add(Timeline.Mark(time: .milliseconds(time), kind: kind, text: text))
        }
        timeline.duration = .seconds(3_600)
        proxy.faults = ["cut": 375]
        (proxy.connections, proxy.resumptions) = (500, 125)
        let line = "2026-03-14T15:09:26.535Z INFO  sync: \"photo 4711\" <ok> & next\n"
        let output = String(repeating: line, count: RunReport.outputLimit / line.utf8.count)
        return RunReport(
            profile: "commute",
            seed: seed,
            began: .zero,
            ending: .exit(reasons.isEmpty ? 0 : 1),
            measurements: Measurements(exit: reasons.isEmpty ? 0 : 1, time: .seconds(3_600), proxies: [proxy]),
            reasons: reasons,
            replay: "squall test --profile commute --seed \(seed) -- ./sync",
            output: output,
            droppedOutput: 9_876_543,
            timeline: timeline
        )
    }

    /// A run in which every text is hostile.
    static var hostileRun: RunReport {
        var run = walk(seed: 1, reasons: [hostile, "second\r\nline"])
        run.profile = hostile
        run.notes = [hostile]
        run.replay = "squall test -- '\(hostile)\n```\n'"
        run.output = "  first\r\n\(hostile)\n...\n---\n::error::x\n"
        run.measurements.proxies[0].name = hostile
        run.measurements.proxies[0].faults = [hostile: 3]
        run.timeline = Timeline()
        run.timeline.duration = .seconds(2)
        run.timeline.add(Timeline.Phase(proxy: hostile, name: hostile, start: .zero, end: .seconds(2)))
        run.timeline.add(.init(time: .seconds(1), upstream: 10, downstream: 1_000))
        run.timeline.add(Timeline.Mark(time: .seconds(1), kind: .fault, text: hostile))
        return run
    }

    /// A stage in which every text is hostile.
    static var hostileStage: StageReport {
        var stage = stage([hostileRun, walk(seed: 2)], name: hostile)
        stage.command = [hostile, ""]
        stage.version = hostile
        stage.began = hostile
        stage.expectations = [hostile]
        return stage
    }

    /// A run in which nothing happened.
    static var idle: RunReport {
        RunReport(
            profile: "perfect",
            seed: 0,
            began: .zero,
            ending: .signal(9),
            measurements: Measurements(exit: 137, time: .zero, proxies: [Measurements.Proxy(name: "db")]),
            reasons: ["no connection came"],
            replay: "",
            output: "",
            droppedOutput: 0,
            timeline: Timeline()
        )
    }

    /// What a reader of a repository sees: three profiles, two failures.
    static var matrix: StageReport {
        let wrong = ["expected “exit == 0”: exit is 1", "expected “resumptions >= 1”: resumptions is 0"]
        return stage([walk(seed: 1), walk(seed: 2), walk(seed: 3, reasons: wrong), services(seed: 1), idle])
    }
}
