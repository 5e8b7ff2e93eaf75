import Units

/// The result of a chaos stage: every run of its command, in the order of the matrix.
public struct StageReport: Sendable {
    /// The name of the stage: that of the scenario, or the command's.
    public var name: String
    /// The command and its arguments, before `{name}` is replaced.
    public var command: [String]
    /// The version of Squall.
    public var version: String
    /// When the stage began, in UTC (RFC 3339).
    public var began: String
    /// How long the whole stage took.
    public var duration: Duration
    /// The runs.
    public var runs: [RunReport]
    /// The expectations as they were written.
    public var expectations: [String]

    /// Makes a report of its parts.
    public init(
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

    /// Whether every run passed.
    public var hasPassed: Bool { runs.allSatisfy(\.hasPassed) }

    /// The number of runs that failed.
    public var failures: Int { runs.count { !$0.hasPassed } }

    /// The outcome in a clause: "all 5 runs passed", "2 of 5 runs failed", "the run failed".
    public var verdict: String { ReportText.verdict(self) }
}
