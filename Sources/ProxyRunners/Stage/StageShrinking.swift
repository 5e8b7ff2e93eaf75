import ChaosStage
import EventLoop
import FaultPlan
import FaultProfile
import Journal
import ProfileFiles
import ProxyEngine
import TerminalDisplay
import Units

/// A search for the fewest faults with which a run of a stage still fails.
struct StageShrinking {
    let scenario: Scenario
    let stageCase: StageCase
    /// Applies the limits of a proxy.
    let limit: @Sendable (inout ProxyConfiguration) -> Void
    let targets: TargetSelection
    let trust: [String: String]
    let reference: Measurements.Reference
    /// The path of the profiles that are found, without its ending.
    let path: String

    /// The most runs of the command: 200.
    private static let runLimit = 200

    /// A fault of one of the proxies.
    private typealias Part = (proxy: Int, unit: ReplayPlan.Unit)

    /// Searches, writes the profiles found, and returns what is to say of them.
    func run(on loops: EventLoopGroup) async throws -> [String] {
        // The run is made once more, for the events of its faults.
        let (first, events) = try await fails(stageCase, on: loops)
        guard first else { return ["It passed when it was repeated for --shrink: it doesn't always fail."] }
        let plans = zip(stageCase.profiles, events).map {
            ReplayPlan(profile: $0, seed: stageCase.seed, events: $1)
        }
        let parts: [Part] = plans.enumerated().flatMap { index, plan in plan.units.map { (index, $0) } }
        guard !parts.isEmpty else { return ["No fault acted that could be left out."] }
        var minimizer = Minimizer(count: parts.count)
        let live = LiveLine()
        var runs = 1
        search: while case .test(let kept) = minimizer.next, runs < StageShrinking.runLimit {
            let profiles = profiles(keeping: kept.map { parts[$0] }, of: plans)
            let isFailure = try await fails(stageCase.with(profiles), on: loops).fails
            runs += 1
            minimizer.answer(fails: isFailure)
            live.print(
                wrapping:
                    "shrink, run \(runs): \(kept.count) of \(parts.count) faults, \(isFailure ? "fails" : "passes")"
            )
        }
        live.clear()
        switch minimizer.next {
        case .done(.neverFails): return ["With the recorded faults alone it passes: --shrink can't say which it takes."]
        case .done(.failsWithout):
            return ["It fails without a recorded fault as well: --shrink can't say which it takes."]
        case .done(.smallest), .test: break
        }
        let kept = minimizer.current.map { parts[$0] }
        let files = try write(kept, of: plans)
        let isSmallest = if case .done = minimizer.next { true } else { false }
        let limit = isSmallest ? "" : ", and fewer may do: \(StageShrinking.runLimit) runs were made"
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
            let name = scenario.proxies.count > 1 ? "-\(scenario.proxies[index].name.replacing("/", with: "_"))" : ""
            let file = OutputFile(path: "\(path)\(name).json")
            try file.write(ProfileWriter.text(of: profile))
            files.append(file.path)
        }
        return files
    }

    private func fails(
        _ stageCase: StageCase,
        on loops: EventLoopGroup
    ) async throws -> (fails: Bool, events: [[RecordedFaultEvent]]) {
        var scenario = scenario
        // Fewer faults than expected are no failure of the command.
        scenario.expectations.removeAll(where: \.isAboutFaults)
        let run = StageRun(
            scenario: scenario,
            stageCase: stageCase,
            limit: limit,
            targets: targets,
            trust: trust,
            artifacts: nil,
            showsOutput: false
        )
        let outcome = try await run.run(on: loops)
        var measurements = outcome.measurements
        measurements.reference = reference
        let failures = scenario.failures(outcome.ending, measurements, digests: outcome.digests)
        return (!failures.isEmpty, outcome.events)
    }
}

extension StageCase {
    /// The same with other profiles.
    fileprivate func with(_ profiles: [Profile]) -> StageCase {
        StageCase(profiles: profiles, name: name, reference: reference, seed: seed)
    }
}
