import Units

/// One run of the command: one profile, one seed.
package struct RunReport: Sendable {
    package enum Ending: Hashable, Sendable {
        /// It exited with this code.
        case exit(Int32)
        /// It was ended by this signal.
        case signal(Int32)
        /// It was stopped at the time limit.
        case timeLimit(Duration)
        /// It was killed with all that it had started, because the process that guards it was stopped or killed.
        case guardLost(wasStopped: Bool)
        /// It wasn't started, or was stopped, because the stage was interrupted.
        case interrupted
        /// It couldn't be started, or a file of its own couldn't be written.
        case notRun
    }

    /// What a run amounts to.
    package enum Result: String, Hashable, Sendable {
        /// It met what is expected, and a fault acted.
        case passed
        /// It met what is expected, but shows nothing: no connection came, or no fault acted.
        case empty
        /// It didn't meet what is expected.
        case failed
        /// It has no end, because the stage was interrupted.
        case skipped
    }

    /// Why a run shows nothing.
    package struct Emptiness: Hashable, Sendable {
        /// A sentence, with what came closest.
        package var reason: String
        /// Whether the stage fails by it.
        package var isFailure: Bool

        package init(reason: String, isFailure: Bool) {
            self.reason = reason
            self.isFailure = isFailure
        }
    }

    /// The names of the profiles of the run's proxies, each once, joined by “, ”.
    package var profile: String
    package var seed: UInt64
    /// When the run began, since the begin of the stage.
    package var began: Duration
    package var ending: Ending
    package var measurements: Measurements
    /// Why the run failed, a sentence each; empty if it passed.
    package var reasons: [String]
    /// Why the run shows nothing; `nil` if it shows something.
    package var emptiness: Emptiness?
    /// The phases and faults that the run met, for each proxy.
    package var coverage: [Coverage]
    /// Further sentences about a failed run, such as what `--shrink` found.
    package var notes: [String]
    /// The command line that repeats the run.
    package var replay: String
    /// The end of what the command wrote, at most `outputLimit` bytes of UTF-8.
    package var output: String
    package var droppedOutput: Int64
    /// The run over time.
    package var timeline: Timeline
    /// The path of the run's capture, relative to a report that names it.
    package var capture: String?

    /// The most bytes of output that a report has of a run: 64 KiB.
    package static let outputLimit = 65_536

    package init(
        profile: String,
        seed: UInt64,
        began: Duration,
        ending: Ending,
        measurements: Measurements,
        reasons: [String],
        emptiness: Emptiness? = nil,
        coverage: [Coverage] = [],
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
        self.emptiness = emptiness
        self.coverage = coverage
        self.notes = notes
        self.replay = replay
        self.output = output
        self.droppedOutput = droppedOutput
        self.timeline = timeline
    }

    /// What the run amounts to.
    package var result: Result {
        if ending == .interrupted { return .skipped }
        if !reasons.isEmpty { return .failed }
        return emptiness == nil ? .passed : .empty
    }

    /// Whether the stage fails by this run.
    package var isFailure: Bool {
        switch result {
        case .passed, .skipped: false
        case .empty: emptiness?.isFailure ?? false
        case .failed: true
        }
    }

    /// The reasons, then why the run shows nothing, a sentence each.
    package var findings: [String] { reasons + (emptiness.map { [$0.reason] } ?? []) }

    /// The run's name in every report: "wifi-roam, seed 3".
    package var name: String { "\(profile), seed \(seed)" }
}

extension RunReport {
    /// The report of a case that has no end, because the stage was interrupted.
    package static func skipped(_ stageCase: StageCase, proxies: [Scenario.Proxy], replay: String) -> RunReport {
        let figures = proxies.map { Measurements.Proxy(name: $0.name) }
        return RunReport(
            profile: stageCase.name,
            seed: stageCase.seed,
            began: .zero,
            ending: .interrupted,
            measurements: Measurements(exit: 0, time: .zero, proxies: figures),
            reasons: [],
            replay: replay,
            output: "",
            droppedOutput: 0,
            timeline: Timeline()
        )
    }
}
