import ChaosStage
import Units

/// What `squall test` prints.
enum StageOutput {
    /// The most lines of a command's output that are printed: 40.
    private static let lineLimit = 40

    /// The line of a run, and why it failed.
    static func tell(_ run: RunReport) {
        let figures = run.measurements
        let waste = figures.waste.map { ", waste \(percent($0))" } ?? ""
        Console.print(
            "\(run.hasPassed ? "pass" : "FAIL")  \(run.name)  \(Formatting.seconds(figures.time))  "
                + "\(run.ending.text), \(count(figures.connections, "connection")), \(count(figures.faults, "fault")), "
                + "\(Formatting.size(figures.bytes))\(waste)"
        )
        for reason in run.reasons { Console.print("      \(reason)") }
    }

    /// The end of a command's output, indented.
    static func tellOutput(_ text: String, dropped: Int64) {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .reversed().drop { $0.isEmpty }.reversed()
        guard !lines.isEmpty else { return }
        let shown = lines.suffix(lineLimit)
        if dropped > 0 || shown.count < lines.count { Console.print("      | …") }
        for line in shown { Console.print(lines: "      | \(line)") }
    }

    /// The failed runs with the lines that repeat them, and the result.
    static func tellSummary(of report: StageReport) {
        for run in report.runs where !run.hasPassed {
            Console.print("")
            Console.print("\(run.name) failed: \(run.reasons.joined(separator: "; "))")
            for note in run.notes { Console.print("  \(note)") }
            Console.print("  repeat it: \(run.replay)")
        }
        if report.hasPassed {
            let count = report.runs.count
            Console.print(
                "passed: \(count) run\(count == 1 ? "" : "s") in \(Formatting.seconds(report.duration).drop { $0 == " " })"
            )
        }
    }

    private static func count(_ number: Int64, _ word: String) -> String {
        "\(Formatting.grouped(number)) \(word)\(number == 1 ? "" : "s")"
    }

    private static func percent(_ share: Double) -> String {
        Formatting.percent(Int64((share * 10_000).rounded()), of: 10_000)
    }
}
