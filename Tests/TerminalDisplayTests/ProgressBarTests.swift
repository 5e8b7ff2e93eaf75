import Testing
import Units

@testable import TerminalDisplay

/// The progress line of `squall get` and `squall put` as text.
struct ProgressBarTests {
    private static let some = ProgressSnapshot(
        bytes: 28_200_000,
        total: 64 << 20,
        rate: 5_000_000,
        resumptions: 2,
        marks: [9_000_000, 20_000_000]
    )

    private func line(_ progress: ProgressSnapshot, _ columns: Int, _ glyphs: ProgressBar.Glyphs = .ascii) -> String {
        ProgressBar(glyphs: glyphs, isColored: false).line(progress, columns: columns)
    }

    private func changed(_ change: (inout ProgressSnapshot) -> Void) -> ProgressSnapshot {
        var progress = Self.some
        change(&progress)
        return progress
    }

    private func waiting(_ delay: Duration, _ reason: String = "the connection was lost: reset by “peer”")
        -> ProgressSnapshot
    {
        changed { $0.pause = .waiting(delay, reason: reason) }
    }

    @Test(arguments: [
        (95, " 42 % [====|=====|===                    ]  26.8 of 64.0 MiB  4.7 MiB/s   0:08 left  resumed 2x"),
        (79, " 42 % [==|==|=           ]  26.8 of 64.0 MiB  4.7 MiB/s   0:08 left  resumed 2x"),
        (70, " 42 % [===      ]  26.8 of 64.0 MiB  4.7 MiB/s   0:08 left  resumed 2x"),
        (68, " 42 % [==|==|=            ]  26.8 of 64.0 MiB  4.7 MiB/s   0:08 left"),
        (59, " 42 % [====      ]  26.8 of 64.0 MiB  4.7 MiB/s   0:08 left"),
        (56, " 42 % [===|===|==               ]  4.7 MiB/s   0:08 left"),
        (39, " 42 % [===     ]  4.7 MiB/s   0:08 left"),
        (30, " 42 % [====      ]   0:08 left"),
        (21, " 42 % [=|=|=        ]"),
        (15, " 42 %"), (5, " 42 %"), (4, " ..."), (1, " "),
    ])
    func `a line has the fields that fit its width`(columns: Int, text: String) {
        #expect(line(Self.some, columns) == text)
    }

    @Test func `with UTF-8 the bar has blocks`() {
        #expect(line(Self.some, 68, .unicode) == " 42 % ██│███│█░░░░░░░░░░░░░  26.8 of 64.0 MiB  4.7 MiB/s   0:08 left")
    }

    @Test(arguments: [
        (95, " 42 % [====|====|===                   ]  waiting 3 s: the connection was lost: reset by \"peer\""),
        (79, " 42 % [==|=|=          ]  waiting 3 s: the connection was lost: reset by \"peer\""),
        (70, " 42 % [===     ]  waiting 3 s: the connection was lost: reset by \"p..."),
        (54, " 42 % [===     ]  waiting 3 s: the connection was l..."),
        (53, " 42 %  waiting 3 s: the connection was lost: reset..."),
        (39, " 42 %  waiting 3 s: the connection w..."),
        (19, " 42 %  waiting 3..."), (7, " 42 %"),
    ])
    func `a line says how long a wait is, and why, as far as there is room`(columns: Int, text: String) {
        #expect(line(waiting(.seconds(2.2)), columns) == text)
    }

    @Test func `a started attempt shows no wait`() {
        #expect(
            line(changed { $0.pause = .trying(reason: "the transfer stalled") }, 39)
                == " 42 %  trying again: the transfer st..."
        )
        #expect(line(waiting(.nanoseconds(1), "x"), 39) == " 42 %  waiting 1 s: x")
        #expect(line(waiting(.seconds(3), "x"), 39) == " 42 %  waiting 3 s: x")
        #expect(line(changed { $0.pause = .withoutNetwork }, 39) == " 42 %  waiting for the network")
    }

    @Test func `without a total there are bytes and the rate`() {
        let unknown = changed { $0.total = nil }
        #expect(line(unknown, 79) == "26.8 MiB  4.7 MiB/s  resumed 2x")
        #expect(line(unknown, 25) == "26.8 MiB  4.7 MiB/s")
        #expect(line(unknown, 8) == "26.8 MiB")
        #expect(line(ProgressSnapshot(), 79) == "0 B")
        #expect(line(changed { $0.total = 0 }, 79) == "26.8 MiB  4.7 MiB/s  resumed 2x")
        var waiting = waiting(.seconds(1), "gone")
        waiting.total = nil
        #expect(line(waiting, 79) == "26.8 MiB  waiting 1 s: gone")
        #expect(line(waiting, 20) == "26.8 MiB  waiting...")
    }

    @Test func `without a rate yet, its column is reserved`() {
        let begun = ProgressSnapshot(bytes: 0, total: 900)
        #expect(line(begun, 56) == "  0 % [           ]    0 of 900 B              -:-- left")
        #expect(line(changed { $0.rate = 0 }, 39) == " 42 % [===     ]      0 B/s   -:-- left")
    }

    @Test func `only a complete transfer is 100 %, and excess bytes show no more`() {
        var almost = ProgressSnapshot(bytes: 999, total: 1_000, rate: 1)
        #expect(line(almost, 21) == " 99 % [============ ]")
        almost.bytes = 1_000
        #expect(line(almost, 21) == "100 % [=============]")
        almost.bytes = 2_000
        #expect(line(almost, 21) == "100 % [=============]")
        #expect(line(ProgressSnapshot(bytes: .max, total: .max), 21) == "100 % [=============]")
    }

    @Test func `marks that would take more than a third of the bar aren't drawn`() {
        let bar = ProgressBar(glyphs: .ascii, isColored: false)
        func drawn(_ count: Int64) -> String {
            let marks = (1...count).map { $0 * 1_000 / (count + 1) }
            return bar.line(ProgressSnapshot(bytes: 1_000, total: 1_000, marks: marks), columns: 21)
        }
        #expect(drawn(1) == "100 % [======|======]")
        #expect(drawn(4) == "100 % [==|==|=|==|==]")
        #expect(drawn(6) == "100 % [=============]")
    }

    @Test func `no line is wider than its columns, whatever the transfer does`() {
        let reasons = ["gone", "“ガガガ” 👩‍👩‍👧 e\u{301}\t\u{7}\u{200B}x", String(repeating: "ж", count: 300)]
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let magnitude = UInt64(1) << (random.next() % 63)
            var progress = ProgressSnapshot(bytes: Int64(random.next() % magnitude))
            if random.next() % 4 > 0 { progress.total = Int64(random.next() % magnitude) }
            if random.next() % 4 > 0 { progress.rate = Double(random.next() % magnitude) }
            progress.resumptions = Int(random.next() % 3 * (random.next() % 10_000))
            progress.marks = (0..<random.next() % 20).map { _ in Int64(random.next() % magnitude) }
            if random.next() % 3 == 0 {
                let delay = Duration.milliseconds(Int64(random.next() % 3 * (random.next() % 100_000_000)))
                let reason = reasons[Int(random.next() % 3)]
                progress.pause = delay > .zero ? .waiting(delay, reason: reason) : .trying(reason: reason)
            }
            let columns = Int(1 + random.next() % 150)
            for glyphs in [ProgressBar.Glyphs.ascii, .unicode] {
                let plain = line(progress, columns, glyphs)
                #expect(plain.count <= columns, "\(plain)")
                // No character is wide, combining or invisible.
                #expect(plain.unicodeScalars.allSatisfy { $0.isASCII ? $0 >= " " && $0 <= "~" : !glyphs.isASCII })
                #expect(plain.unicodeScalars.allSatisfy { $0.value < 0x500 || "…█░│“”".unicodeScalars.contains($0) })
                let colored = ProgressBar(glyphs: glyphs, isColored: true).line(progress, columns: columns)
                #expect(colored.replacing(/\u{1B}\[[0-9]*m/, with: "") == plain)
            }
        }
    }

    @Test func `the bar, its marks and the reason of a wait have colors of their own`() {
        let bar = ProgressBar(glyphs: .ascii, isColored: true)
        let progress = ProgressSnapshot(bytes: 6, total: 13, marks: [2])
        #expect(
            bar.line(progress, columns: 21)
                == " 46 % [\u{1B}[32m==\u{1B}[m\u{1B}[33m|\u{1B}[m\u{1B}[32m===\u{1B}[m\u{1B}[2m       \u{1B}[m]"
        )
        #expect(bar.line(waiting(.seconds(3), "x"), columns: 39) == " 42 %  \u{1B}[33mwaiting 3 s: x\u{1B}[m")
    }

    @Test(
        arguments: [
            (["TERM": "xterm", "LANG": "en_US.UTF-8"], true, true, true),
            (["TERM": "xterm", "LANG": "C.utf8", "NO_COLOR": "1"], true, false, true),
            (["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": ""], true, true, true),
            (["TERM": "xterm", "LANG": "C"], true, true, false),
            (["TERM": "xterm", "LANG": "de_DE.UTF-8", "LC_ALL": "C"], true, true, false),
            (["LANG": "C", "LC_CTYPE": "C.UTF-8"], true, true, true),
            (["TERM": "dumb", "LANG": "C.UTF-8"], false, false, false), ([:], true, true, false),
        ] as [([String: String], Bool, Bool, Bool)]
    )
    func `the environment says what a terminal shows`(
        environment: [String: String],
        hasEscapes: Bool,
        hasColors: Bool,
        hasUnicode: Bool
    ) {
        let abilities = TerminalAbilities(environment: environment)
        #expect(abilities.hasEscapes == hasEscapes)
        #expect(abilities.hasColors == hasColors)
        #expect(abilities.hasUnicode == hasUnicode)
        let bar = ProgressBar(abilities)
        #expect(bar.glyphs == (hasUnicode ? .unicode : .ascii) && bar.isColored == hasColors)
    }

    @Test(
        arguments: [
            (0.2, "0:01"), (8, "0:08"), (59.5, "1:00"), (3_599, "59:59"), (3_600, "1h00m"), (35_940, "9h59m"),
            (35_941, "10 h"), (356_400, "99 h"), (356_401, "5 d"), (86_000_000, "996 d"), (1e30, nil),
        ] as [(Double, String?)]
    )
    func `the time left is short`(seconds: Double, text: String?) {
        #expect(Formatting.timeLeft(seconds: seconds) == text)
    }

    @Test(
        arguments: [
            (0, "0 B/s"), (999, "999 B/s"), (1_000, "0.9 KiB/s"), (10_240, "10 KiB/s"), (1_023_999, "999 KiB/s"),
            (5_000_000, "4.7 MiB/s"), (1e30, "1000000000000000 TiB/s"),
        ] as [(Double, String)]
    )
    func `a rate has three digits at most`(rate: Double, text: String) {
        #expect(Formatting.byteRate(rate) == text)
    }
}
