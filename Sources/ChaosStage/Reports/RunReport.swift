import Units

/// One run of the command: one profile, one seed.
public struct RunReport: Sendable {
    /// How the command ended.
    public enum Ending: Hashable, Sendable {
        /// It exited with this code.
        case exit(Int32)
        /// It was ended by this signal.
        case signal(Int32)
        /// It was stopped at the time limit.
        case timeLimit(Duration)
    }

    /// The names of the profiles of the run's proxies, each once, joined by “, ”.
    public var profile: String
    /// The seed.
    public var seed: UInt64
    /// When the run began, since the begin of the stage.
    public var began: Duration
    /// How the command ended.
    public var ending: Ending
    /// The figures of the run.
    public var measurements: Measurements
    /// Why the run failed, a sentence each; empty if it passed.
    public var reasons: [String]
    /// Further sentences about a failed run, such as what `--shrink` found.
    public var notes: [String]
    /// The command line that repeats the run.
    public var replay: String
    /// The end of what the command wrote, at most `outputLimit` bytes of UTF-8.
    public var output: String
    /// The bytes of output in front of `output` that were dropped.
    public var droppedOutput: Int64
    /// The run over time.
    public var timeline: Timeline

    /// The most bytes of output that a report has of a run: 64 KiB.
    public static let outputLimit = 65_536

    /// Makes a report of its parts.
    public init(
        profile: String,
        seed: UInt64,
        began: Duration,
        ending: Ending,
        measurements: Measurements,
        reasons: [String],
        notes: [String] = [],
        replay: String,
        output: String,
        droppedOutput: Int64,
        timeline: Timeline
    ) {
        self.profile = profile
        self.seed = seed
        self.began = began
        self.ending = ending
        self.measurements = measurements
        self.reasons = reasons
        self.notes = notes
        self.replay = replay
        self.output = output
        self.droppedOutput = droppedOutput
        self.timeline = timeline
    }

    /// Whether the run passed.
    public var hasPassed: Bool { reasons.isEmpty }

    /// The run's name in every report: "wifi-roam, seed 3".
    public var name: String { "\(profile), seed \(seed)" }
}
