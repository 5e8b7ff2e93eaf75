import Testing
import Units

@testable import TerminalDisplay

/// Text fitted to a terminal, and what the displays are made of.
struct TerminalTextTests {
    @Test(arguments: [
        (23, "waiting for the network"), (22, "waiting for the…"), (16, "waiting for the…"), (15, "waiting for…"),
        (8, "waiting…"), (7, "waitin…"), (1, "w"), (0, ""),
    ])
    func `a text is cut after a word`(columns: Int, text: String) {
        #expect(TerminalText.cut("waiting for the network", to: columns) == text)
    }

    @Test func `the escape of a control character is cut as a whole, and wide characters count twice`() {
        let text = "a\u{1B}[31mred".visibleLine
        #expect(text == #"a\u{1b}[31mred"#)
        #expect(TerminalText.cut(text, to: text.count) == text)
        for columns in 2...7 { #expect(TerminalText.cut(text, to: columns) == "a…", "\(columns)") }
        #expect(TerminalText.cut(text, to: 8) == #"a\u{1b}…"#)
        #expect(TerminalText.cut("網路中斷", to: 8) == "網路中斷")
        #expect(TerminalText.cut("網路中斷", to: 7) == "網路中…")
        #expect(TerminalText.cut("網路中斷", to: 6) == "網路…")
    }

    /// A transfer through many cuts prints a line for each. A pattern that is compiled for each character takes minutes.
    @Test(.timeLimit(.minutes(1))) func `5,000 lines take no time`() {
        let line = "1.0 s  the connection was lost: Connection reset by peer (errno 104); trying again at once"
        for _ in 1...5_000 { #expect(TerminalText.cut(line, to: 60).count <= 60) }
    }

    @Test func `lines are broken between fields, and a field never`() {
        let fields = ["ready: 127.0.0.1:PORT", "-> a.example:80", "(proxy “of one”,", "seed 7)"]
        #expect(TerminalText.lines(of: fields, to: 99) == [fields.joined(separator: " ")])
        #expect(
            TerminalText.lines(of: fields, to: 40) == [
                "ready: 127.0.0.1:PORT -> a.example:80", "  (proxy “of one”, seed 7)",
            ]
        )
        #expect(TerminalText.lines(of: fields, to: 5) == [fields[0]] + fields.dropFirst().map { "  " + $0 })
        #expect(TerminalText.lines(of: ["", "", "two blanks"], to: 3) == ["  two blanks"])
        #expect(TerminalText.lines(of: [], to: 3) == [""])
    }

    @Test func `fields that don't fit are left out, shorter ones after them aren't`() {
        let fields = ["first", "a longer second", "third"]
        #expect(TerminalText.line(fields, to: 40) == "first  a longer second  third")
        #expect(TerminalText.line(fields, to: 22) == "first  a longer second")
        #expect(TerminalText.line(fields, to: 21) == "first  third")
        #expect(TerminalText.line(fields, to: 5) == "first")
        #expect(TerminalText.line([], to: 5) == "")
    }

    @Test func `lines are broken between words, and only inside a word that is too long`() {
        #expect(TerminalText.wrapped("one two three", to: 7) == ["one two", "three"])
        #expect(TerminalText.wrapped("one two three", to: 13) == ["one two three"])
        #expect(TerminalText.wrapped("one two", to: 5, indent: 2) == ["one", "  two"])
        #expect(TerminalText.wrapped("abcdefgh ij", to: 3) == ["abc", "def", "gh", "ij"])
        #expect(TerminalText.wrapped("", to: 3) == [""])
    }

    @Test func `color sequences have no width`() {
        #expect(TerminalText.width("a" + TerminalColor.red.paint("bc") + "d") == 4)
        #expect(TerminalColor.red.paint("").isEmpty)
    }

    @Test(arguments: [
        (59, "3 open  up   1.6 Mbit/s  down  80.0 Mbit/s  14 faults"),
        (69, "[in the room]  3 open  up   1.6 Mbit/s  down  80.0 Mbit/s  14 faults"),
        (79, " 12.3 s  [in the room]  3 open  up   1.6 Mbit/s  down  80.0 Mbit/s  14 faults"),
    ])
    func `the status of running proxies leaves out fields`(columns: Int, text: String) {
        var status = RunStatus(time: .milliseconds(12_345), phase: "in the room")
        (status.open, status.upstreamRate, status.downstreamRate, status.faults) = (3, 200_000, 10_000_000, 14)
        #expect(status.line(columns: columns, .ascii) == text)
        for columns in 0...120 { #expect(status.line(columns: columns, .unicode).count <= columns) }
    }

    @Test func `the line of a phase has the characters of its terminal`() {
        let lines = [ProgressBar.Glyphs.ascii, .unicode].map {
            RunStatus.line(ofPhase: "im Café 日本", at: .milliseconds(1_500), $0)
        }
        #expect(lines[0].hasSuffix("  - im Caf? ??") && lines[0].utf8.allSatisfy { $0 < 0x80 }, "\(lines[0])")
        #expect(lines[1].hasSuffix("  — im Café 日本"), "\(lines[1])")
    }

    @Test func `rates of a run are those of the last second`() {
        var rates = RunRates()
        #expect(rates.add(up: 0, down: 0, at: .zero) == (0, 0))
        #expect(rates.add(up: 100, down: 1_000, at: .zero + .milliseconds(500)) == (200, 2_000))
        _ = rates.add(up: 100, down: 2_000, at: .zero + .milliseconds(1_000))
        #expect(rates.add(up: 100, down: 3_000, at: .zero + .milliseconds(1_500)) == (0, 2_000))
    }

    @Test(arguments: [("", ""), (" \n\t", ""), (" a b\r\n", "a b"), ("a", "a")])
    func `white space is trimmed`(text: String, trimmed: String) { #expect(text.trimmed == trimmed) }
}
