import ChaosStage
import TerminalDisplay
import Units

/// What `squall test` prints.
enum StageOutput {
    /// The most lines of a command's output that are printed: 40.
    private static let lineLimit = 40

    /// The line of a run that has ended, its coverage, and why it failed or shows nothing.
    ///
    /// - Parameter told: the sentences about streams that aren't HTTP which have been printed; each is printed once.
    static func tell(_ run: RunReport, _ told: inout Set<String>) {
        let figures = run.measurements
        let waste = figures.waste.map { ", waste \(percent($0))" } ?? ""
        Console.print(
            "\(word(run.result))\(run.name)  \(Formatting.seconds(figures.time))  "
                + "\(run.ending.text), \(count(figures.connections, "connection")), \(count(figures.faults, "fault")), "
                + "\(Formatting.size(figures.bytes))\(waste)"
        )
        for line in run.findings + run.coverageTexts { Console.print("      \(line)") }
        for line in run.unreadTexts where told.insert(line).inserted {
            // An empty run ends with it.
            if !run.findings.contains(where: { $0.hasSuffix(line) }) { Console.print("      \(line)") }
        }
    }

    /// The first word of a run's line, six columns wide.
    private static func word(_ result: RunReport.Result) -> String {
        switch result {
        case .passed: "pass  "
        case .empty: "empty "
        case .failed: "FAIL  "
        case .skipped: "skip  "
        }
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

    /// The runs by which the stage fails with the lines that repeat them, and the result.
    static func tellSummary(of report: StageReport) {
        for run in report.runs where run.isFailure {
            Console.print("")
            let verb = run.result == .empty ? "is empty" : "failed"
            Console.print("\(run.name) \(verb): \(run.findings.joined(separator: "; "))")
            for note in run.notes { Console.print("  \(note)") }
            Console.print("  repeat it: \(run.replay)")
        }
        if report.hasPassed {
            let time = Formatting.seconds(report.duration).drop { $0 == " " }
            let empty = report.count(.empty)
            let rest = empty > 0 ? ", \(empty) of them empty" : ""
            Console.print("passed: \(count(Int64(report.runs.count), "run")) in \(time)\(rest)")
        }
    }

    private static func count(_ number: Int64, _ word: String) -> String {
        "\(Formatting.grouped(number)) \(word)\(number == 1 ? "" : "s")"
    }

    private static func percent(_ share: Double) -> String {
        Formatting.percent(Int64((share * 10_000).rounded()), of: 10_000)
    }
}
