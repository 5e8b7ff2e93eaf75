import ChaosStage
import EventLoop
import FaultPlan
import FaultProfile
import Journal
import ProfileFiles
import TerminalDisplay
import Units

/// A search for the fewest faults with which a run of a stage still fails.
struct StageShrinking {
    let scenario: Scenario
    let stageCase: StageCase
    /// A run of a case that writes nothing.
    let stageRun: (StageCase) -> StageRun
    /// The bytes of the run without faults, see `Measurements`.
    let reference: [Int64]
    /// The paths of the profiles that are found, in the order of the proxies.
    let paths: [String]

    /// The most runs of the command: 200.
    private static let runLimit = 200

    /// A fault of one of the proxies.
    private typealias Part = (proxy: Int, unit: ReplayPlan.Unit)

    /// Searches, writes the profiles found, and returns what is to say of them.
    func run(on loops: EventLoopGroup) async throws -> [String] {
        // Without it another exit code would fail, which isn't what failed.
        if let mixed = scenario.expectations.first(where: { $0.isAboutFaults && $0.isAboutExit }) {
            return ["--shrink needs expectations about the exit code apart from those about faults: \(mixed.text)"]
        }
        // The run is made once more, for the events of its faults.
        let (first, isByCount, events) = try await fails(stageCase, on: loops)
        if isByCount { return ["It failed by its count of faults, or by its phases: there is nothing to shrink."] }
        guard first else { return ["It passed when it was repeated for --shrink: it doesn't always fail."] }
        let plans = zip(stageCase.profiles, events).map {
            ReplayPlan(profile: $0, seed: stageCase.seed, events: $1)
        }
        let parts: [Part] = plans.enumerated().flatMap { index, plan in plan.units.map { (index, $0) } }
        guard !parts.isEmpty else { return ["No fault acted that could be left out."] }
        var minimizer = Minimizer(count: parts.count)
        var runs = 1
        try await minimizer.search(upTo: StageShrinking.runLimit, counting: &runs) { kept in
            let profiles = profiles(keeping: kept.map { parts[$0] }, of: plans)
            return try await fails(stageCase.with(profiles), on: loops).fails
        }
        switch minimizer.next {
        case .done(.neverFails): return ["With the recorded faults alone it passes: --shrink can't say which it takes."]
        case .done(.failsWithout):
            return ["It fails without a recorded fault as well: --shrink can't say which it takes."]
        case .test where Task.isCancelled && minimizer.current.count == parts.count:
            return ["--shrink was interrupted before it could leave out a fault."]
        case .done(.smallest), .test: break
        }
        let kept = minimizer.current.map { parts[$0] }
        let files = try write(kept, of: plans)
        let isSmallest = if case .done = minimizer.next { true } else { false }
        let end = Task.isCancelled ? "it was interrupted" : "\(StageShrinking.runLimit) runs were made"
        let limit = isSmallest ? "" : ", and fewer may do: \(end)"
        let result = Shrinking.result(kept: kept.count, of: parts.count, runs: runs)
        return ["\(result)\(limit): \(files.joined(separator: ", "))"] + kept.map { "  \(Shrinking.sentence($0.unit))" }
    }

    private func profiles(keeping kept: [Part], of plans: [ReplayPlan], isNamedApart: Bool = false) -> [Profile] {
        plans.enumerated().map { index, plan in
            plan.profile(keeping: kept.filter { $0.proxy == index }.map(\.unit), isNamedApart: isNamedApart)
        }
    }

    private func write(_ kept: [Part], of plans: [ReplayPlan]) throws(CommandFailure) -> [String] {
        var files: [String] = []
        for (index, profile) in profiles(keeping: kept, of: plans, isNamedApart: true).enumerated() {
            guard kept.contains(where: { $0.proxy == index }) else { continue }
            let file = OutputFile(path: paths[index])
            try file.write(ProfileWriter.text(of: profile))
            files.append(file.path)
        }
        return files
    }

    /// Whether a run fails, or fails only by the number of its faults or by phases, and the events of its faults.
    private func fails(
        _ stageCase: StageCase,
        on loops: EventLoopGroup
    ) async throws -> (fails: Bool, isByCount: Bool, events: [[RecordedFaultEvent]]) {
        let outcome = try await stageRun(stageCase).run(on: loops)
        var measurements = outcome.measurements
        measurements.reference = reference
        func fails(_ scenario: Scenario, _ coverage: [Coverage]) -> Bool {
            !scenario.failures(outcome.ending, measurements, coverage: coverage, digests: outcome.digests).isEmpty
        }
        // Fewer faults than expected are no failure of the command.
        var uncounted = scenario
        uncounted.expectations.removeAll(where: \.isAboutFaults)
        let isFailure = fails(uncounted, [])
        return (isFailure, !isFailure && fails(scenario, outcome.coverage), outcome.events)
    }
}

extension StageCase {
    /// The same with other profiles.
    fileprivate func with(_ profiles: [Profile]) -> StageCase {
        StageCase(profiles: profiles, name: name, reference: reference, seed: seed)
    }
}
