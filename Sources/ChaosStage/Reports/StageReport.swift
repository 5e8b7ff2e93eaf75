import Units

/// The result of a chaos stage: every run of its command, in the order of the matrix.
package struct StageReport: Sendable {
    /// The name of the stage: that of the scenario, or the command's.
    package var name: String
    /// The command and its arguments, before `{name}` is replaced.
    package var command: [String]
    package var version: String
    /// When the stage began, in UTC (RFC 3339).
    package var began: String
    /// How long the whole stage took.
    package var duration: Duration
    package var runs: [RunReport]
    /// The expectations as they were written.
    package var expectations: [String]

    package init(
        name: String,
        command: [String],
        version: String,
        began: String,
        duration: Duration,
        runs: [RunReport],
        expectations: [String]
    ) {
        self.name = name
        self.command = command
        self.version = version
        self.began = began
        self.duration = duration
        self.runs = runs
        self.expectations = expectations
    }

    /// Whether no run fails the stage, and none was skipped.
    package var hasPassed: Bool { failures == 0 && !wasInterrupted }

    /// Whether the stage was interrupted before the end of a run.
    package var wasInterrupted: Bool { count(.skipped) > 0 }

    /// The number of runs by which the stage fails.
    package var failures: Int { runs.count(where: \.isFailure) }

    package func count(_ result: RunReport.Result) -> Int { runs.count { $0.result == result } }

    /// "all 5 runs passed", "2 of 5 runs failed, 1 is empty", "interrupted: 3 of 5 runs finished".
    package var verdict: String {
        let (failed, empty, skipped) = (count(.failed), count(.empty), count(.skipped))
        switch (runs.count, failed + empty + skipped) {
        case (0, _): return "no run"
        case (1, 0): return "the run passed"
        case (2, 0): return "both runs passed"
        case (let count, 0): return "all \(count) runs passed"
        case (1, _) where skipped == 0: return failed > 0 ? "the run failed" : "the run is empty"
        default: break
        }
        var parts: [String] = []
        if skipped > 0 {
            parts.append("interrupted: \(runs.count - skipped) of \(ReportText.count(runs.count, "run")) finished")
        }
        if failed > 0 { parts.append(parts.isEmpty ? "\(failed) of \(runs.count) runs failed" : "\(failed) failed") }
        if empty > 0 {
            let verb = empty == 1 ? "is" : "are"
            parts.append(parts.isEmpty ? "\(empty) of \(runs.count) runs \(verb) empty" : "\(empty) \(verb) empty")
        }
        return parts.joined(separator: ", ")
    }
}
