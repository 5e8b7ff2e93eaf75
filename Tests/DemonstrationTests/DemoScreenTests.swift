import FaultPlan
import FaultProfile
import Testing
import Units

@testable import Demonstration
@testable import TerminalDisplay
@testable import TransferClient

/// The display of a transfer of `squall demo` as text.
struct DemoScreenTests {
    private static let plain = TerminalAbilities(environment: ["TERM": "xterm", "NO_COLOR": "1", "LANG": "C"])
    private static let unicode = TerminalAbilities(environment: ["TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"])
    private static let full = TerminalAbilities(environment: ["TERM": "xterm", "LANG": "C.UTF-8"])
    private static let dumb = TerminalAbilities(environment: ["TERM": "dumb", "LANG": "C.UTF-8"])

    /// 3 s at 8 Mbit/s, 2 s at 800 kbit/s, an outage for 1 s so far.
    private static func scene() -> DemoScene {
        var scene = DemoScene(transfer: .download, time: .seconds(6), span: .seconds(12))
        scene.phases = [
            PhaseSpan(name: "in the room", begin: .zero, tone: .good(isSecond: false)),
            PhaseSpan(name: "at the door", begin: .seconds(3), tone: .poor),
            PhaseSpan(name: "gone", begin: .seconds(5), tone: .gone(.refuse)),
        ]
        for tenth in 1...60 as ClosedRange<Int64> {
            let bytes = min(tenth, 30) * 100_000 + max(0, min(tenth, 50) - 30) * 10_000
            scene.history.reached(bytes, at: .milliseconds(100 * tenth))
        }
        scene.progress = ProgressSnapshot(bytes: 3_200_000, total: 8_000_000, resumptions: 1, marks: [1_000_000])
        scene.progress.pause = .waiting(.seconds(1.5), reason: "the connection failed: Connection refused")
        scene.faults = 12
        return scene
    }

    private func lines(
        _ scene: DemoScene,
        columns: Int,
        rows: Int = 24,
        _ abilities: TerminalAbilities
    ) -> [String] {
        DemoScreen(abilities: abilities, columns: columns, rows: rows).lines(scene)
    }

    @Test func `at 60 columns it has a chart, the names of the phases, a sentence and a bar`() {
        #expect(
            lines(Self.scene(), columns: 59, Self.unicode) == [
                "",
                "  6.0 s  The network is gone. Waiting. Next attempt in 2 s.",
                "  8 Mbit/s ████████████",
                "           ████████████",
                "           ████████████",
                "           ████████████▃▃▃▃▃▃▃▃····",
                "           └ in the room       └ gone",
                "                       └ at the door",
                " 40 % █│██░░░░░░░░  3.0 of 7.6 MiB      0 bit/s   -:-- left",
            ]
        )
    }

    @Test func `in ASCII at 80 columns there is room for the next attempt as well`() {
        let shown = lines(Self.scene(), columns: 79, Self.plain)
        let words = "  6.0 s  The network is gone. Waiting. Next attempt in 2 s."
        #expect(shown[1] == words + String(repeating: " ", count: 79 - words.count - 9) + "12 faults")
        #expect(shown[2] == "  8 Mbit/s #################")
        #expect(shown[5] == "           #################............_____")
        #expect(shown[6] == "           | in the room    | at the door")
        #expect(shown[7] == "                                       | gone")
        #expect(shown.allSatisfy { $0.utf8.count <= 79 && $0.unicodeScalars.allSatisfy(\.isASCII) })
    }

    @Test func `a low terminal has a lower chart or none, a dumb one a single line`() {
        #expect(lines(Self.scene(), columns: 79, rows: 20, Self.unicode).count == 7)
        #expect(lines(Self.scene(), columns: 79, rows: 10, Self.unicode).count == 2)
        #expect(
            lines(Self.scene(), columns: 79, Self.dumb)
                == ["  6.0 s   40 %  The network is gone. Waiting. Next attempt in 2 s."]
        )
    }

    @Test(arguments: [59, 79, 199])
    func `colors change no character, and each phase has its own`(columns: Int) {
        let colored = lines(Self.scene(), columns: columns, Self.full)
        let plain = lines(Self.scene(), columns: columns, Self.unicode)
        #expect(colored.map { $0.replacing(/\u{1B}\[[0-9]*m/, with: "") } == plain)
        #expect(!plain.joined().contains("\u{1B}"))
        let bottom = colored[5]
        for color in [TerminalColor.green, .yellow, .red] { #expect(bottom.contains("\u{1B}[\(color.rawValue)m")) }
        #expect(colored[1].hasPrefix("  6.0 s  \u{1B}[31mThe network is gone."))
        #expect(zip(colored, plain).allSatisfy { TerminalText.width($0) == $1.count })
    }

    @Test func `no line is too wide and no word is broken, whatever happens at whatever width`() {
        var random = SeededGenerator(seed: 11)
        let names = ["gone", "at the door again", "ガ\t\u{1B}[31m", String(repeating: "long ", count: 20)]
        let tones: [PhaseTone] = [.good(isSecond: true), .poor, .gone(.silence), .gone(.reset)]
        let reasons = ["the connection was lost: x", "e\u{301}\u{7}", String(repeating: "reason ", count: 40)]
        for _ in 0..<600 {
            var scene = DemoScene(transfer: .upload, time: .milliseconds(Int64(random.next() % 90_000)), span: .zero)
            scene.span = DemoScene.span(scene.time, expected: .milliseconds(Int64(random.next() % 60_000)))
            #expect(scene.span >= scene.time)
            var begin = Duration.zero
            while begin < scene.time, scene.phases.count < 30 {
                let name = names[Int(random.next() % 4)]
                scene.phases.append(PhaseSpan(name: name, begin: begin, tone: tones[Int(random.next() % 4)]))
                begin += .milliseconds(Int64(1 + random.next() % 5_000))
            }
            var bytes: Int64 = 0
            for tenth in 0...Int64(random.next() % 900) {
                bytes = bytes.addingSaturated(Int64(random.next() % (1 << (random.next() % 50))))
                scene.history.reached(bytes, at: .milliseconds(tenth * 100))
            }
            scene.progress = ProgressSnapshot(bytes: bytes / 2, total: bytes)
            if random.next() % 2 == 0 {
                scene.progress.pause = .waiting(.seconds(3), reason: reasons[Int(random.next() % 3)])
            }
            scene.faults = Int(random.next() % 100_000)
            let columns = 19 + Int(random.next() % 200)
            for abilities in [Self.plain, Self.unicode, Self.full, Self.dumb] {
                let shown = lines(scene, columns: columns, rows: Int(5 + random.next() % 40), abilities)
                #expect(shown.allSatisfy { TerminalText.width($0) <= columns }, "\(columns): \(shown)")
                #expect(shown.allSatisfy { !$0.contains("\n") && !$0.contains("\r") })
                #expect(abilities.hasColors || !shown.joined().contains("\u{1B}"))
                #expect(abilities.hasUnicode || shown.joined().unicodeScalars.allSatisfy(\.isASCII))
            }
        }
    }

    @Test func `what happens is told in sentences`() {
        func sentences(_ change: (inout DemoScene) -> Void) -> String {
            var scene = Self.scene()
            change(&scene)
            return DemoWords.sentences(scene).joined(separator: " ")
        }
        #expect(sentences { _ in } == "The network is gone. Waiting. Next attempt in 2 s.")
        #expect(sentences { $0.phases[2].tone = .gone(.silence) }.hasPrefix("The network is silent. Waiting."))
        #expect(
            sentences { $0.phases.removeLast() } == "The connection failed. Next attempt in 2 s.",
            "the network is there again, the client hasn't noticed"
        )
        #expect(
            sentences {
                $0.phases.removeLast()
                $0.progress.pause = nil
            } == "Nothing gets through. Waiting."
        )
        func moving(_ scene: inout DemoScene) {
            scene.progress.pause = nil
            scene.history.reached(3_300_000, at: .seconds(7))
            scene.time = .seconds(7)
        }
        #expect(
            sentences {
                moving(&$0)
                $0.phases.removeLast()
            } == "The network is poor. Downloading at 800.0 kbit/s."
        )
        #expect(
            sentences {
                moving(&$0)
                $0.phases = []
                $0.resumed = DemoScene.Resumption(offset: 1 << 20, time: .seconds(6))
            } == "Connected again. Resumed at 1.0 MiB."
        )
        #expect(
            sentences {
                moving(&$0)
                $0.phases = []
                $0.transfer = .upload
            } == "Uploading at 800.0 kbit/s."
        )
        #expect(DemoWords.sentences(DemoScene(transfer: .download, time: .zero, span: .zero)) == ["Connecting."])
        #expect(DemoWords.sentence("the connection was lost: gone (errno 104)") == "The connection was lost.")
    }

    @Test func `a fault has at most two lines in a phase, a delay or a limit none`() {
        func entry(_ effect: FaultEvent.Effect) -> JournalEntry {
            JournalEntry(
                moment: .zero,
                proxy: "demo",
                connection: 3,
                direction: .downstream,
                fault: "x",
                kind: FaultKind.Name.allCases[0],
                offset: 1_048_576,
                effect: effect
            )
        }
        var narration = DemoNarration()
        #expect(narration.fault(entry(.limits)).isEmpty && narration.fault(entry(.delays)).isEmpty)
        let told = ["x resets", "at 1,048,576", "connection 3", "downstream"]
        #expect(narration.fault(entry(.cuts(.reset))) == told)
        #expect(narration.fault(entry(.cuts(.reset))) == told)
        #expect(narration.fault(entry(.cuts(.reset))).isEmpty)
        #expect(narration.fault(entry(.silences)).first == "x silences")
        #expect(narration.phase("gone", ["nothing gets through"]) == ["— gone", "nothing gets through"])
        #expect(narration.fault(entry(.cuts(.reset))) == told)
    }

    @Test func `a line of the story keeps its time and leaves out what doesn't fit`() {
        let fields = [
            "client: the connection was lost", "next attempt at once", "Connection reset by peer (errno 104)",
        ]
        func line(_ columns: Int) -> String { DemoNarration.line("  5.0 s", fields, Self.plain, columns: columns) }
        #expect(line(199) == "  5.0 s  " + fields.joined(separator: ", "))
        #expect(line(79) == "  5.0 s  client: the connection was lost, next attempt at once")
        #expect(line(59) == "  5.0 s  client: the connection was lost")
        #expect(line(30) == "  5.0 s  client: the...")
    }

    @Test(arguments: [59, 79, 199])
    func `a summary fits, and its digest is cut at its end`(columns: Int) {
        var result = TransferSummary.sample
        result.bytes = 67_108_864
        let summary = DemoSummary(
            result: result,
            faults: (1...12).map { ("on the tenth floor/bandwidth limits \($0)", $0) },
            resumptions: [30_711_844, 41_000_000, 50_000_000],
            sent: String(repeating: "4d5594a6", count: 8),
            received: String(repeating: "4d5594a6", count: 8),
            isEqual: true
        )
        let lines = summary.lines(columns: columns, Self.unicode)
        #expect(lines.allSatisfy { $0.count <= columns })
        #expect(lines.contains("             and 4 others"))
        #expect(lines.contains { $0.hasPrefix("SHA-256      4d5594a64d5594a6") && $0.hasSuffix("  sent") })
        #expect(lines.contains { $0.contains("…") } == (columns < 87))
        #expect(lines.last == "equal: the file arrived byte for byte")
        #expect(summary.lines(columns: columns, Self.full).last == TerminalColor.green.paint(lines.last ?? ""))
        #expect(summary.text.hasSuffix("\n" + (lines.last ?? "")))
    }
}

extension TransferSummary {
    fileprivate static var sample: TransferSummary {
        TransferSummary(
            bytes: 1,
            sha256: [],
            connections: 3,
            resumptions: 3,
            duration: .seconds(11.5),
            details: .upload(UploadDetails(proof: .complete))
        )
    }
}
