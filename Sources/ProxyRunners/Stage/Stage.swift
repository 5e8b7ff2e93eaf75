import ChaosStage
import CommandParsing
import EventLoop
import FoundationEssentials
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import Synchronization
import TerminalDisplay
import Units

/// A chaos stage: runs each case, judges it, and reports.
package struct Stage {
    private let scenario: Scenario
    /// The command line that repeats a case.
    private let repetition: @Sendable (StageCase) -> String
    /// Applies the limits of the proxies.
    private let limit: @Sendable (inout ProxyConfiguration) -> Void
    /// The targets whose connections are redirected, where the command is supervised.
    private let targets: TargetSelection
    /// The variables that have the command trust the authority of its proxies.
    private let trust: [String: String]
    /// The folder of the runs' journals and outputs, if they are kept.
    private let artifacts: String?
    /// The captures of the runs, if they are made.
    private let captures: RunCaptures?
    private let shrinks: Bool
    private let showsOutput: Bool
    /// The names of the runs' files without seed and endings, by that of the case, which may be any text.
    private let fileNames: [String: String]

    /// A stage of `scenario`.
    package init(
        _ scenario: Scenario,
        artifacts: String?,
        captures: RunCaptures?,
        shrinks: Bool,
        showsOutput: Bool,
        limit: @escaping @Sendable (inout ProxyConfiguration) -> Void,
        targets: TargetSelection,
        trust: [String: String],
        repetition: @escaping @Sendable (StageCase) -> String
    ) {
        (self.scenario, self.artifacts, self.captures) = (scenario, artifacts, captures)
        (self.shrinks, self.showsOutput) = (shrinks, showsOutput)
        (self.limit, self.targets, self.trust, self.repetition) = (limit, targets, trust, repetition)
        var names: [String: String] = [:]
        for name in scenario.cases.map(\.name) where names[name] == nil {
            let plain = Stage.plain(name)
            var (free, number) = (plain, 1)
            while names.values.contains(free) {
                number += 1
                free = "\(plain)-\(number)"
            }
            names[name] = free
        }
        fileNames = names
    }

    /// Runs the stage. After Ctrl-C the runs that haven't ended are skipped.
    package func run() async throws -> StageReport {
        try await withRuntime { loops, interrupt in
            try await interrupt.cancelling { try await perform(on: loops) }
        }
    }

    private func perform(on loops: EventLoopGroup) async throws -> StageReport {
        let began = MonotonicClock.now
        let date = Date()
        let cases = scenario.cases
        let reference = try await neededReference(on: loops)
        var runs = try await runAll(cases, reference, began: began, on: loops)
        scenario.judgeEmptiness(of: &runs)
        do {
            if runs.contains(where: Stage.isUnexplained) { try await explain(&runs, cases, reference, on: loops) }
        } catch {
            // The runs have been judged: their reports don't wait for an explanation.
            let reason = (error as? CommandFailure)?.message ?? "interrupted"
            for index in runs.indices where Stage.isUnexplained(runs[index]) {
                runs[index].notes.append("The search for the cause has ended early: \(reason)")
            }
        }
        let report = StageReport(
            name: scenario.name,
            command: scenario.command,
            version: Version.current,
            began: date.formatted(.iso8601),
            duration: MonotonicClock.now - began,
            runs: runs,
            expectations: scenario.expectations.map(\.text)
        )
        StageOutput.tellSummary(of: report)
        return report
    }

    // MARK: Runs

    private func runAll(
        _ cases: [StageCase],
        _ reference: Reference?,
        began: Moment,
        on loops: EventLoopGroup
    ) async throws -> [RunReport] {
        try await withThrowingTaskGroup(of: (Int, Result<RunReport, CommandFailure>).self) { group in
            var results = cases.map(skipped)
            var (next, told, hasRun) = (0, Set<String>(), reference != nil)
            func add() {
                guard next < cases.count, !Task.isCancelled else { return }
                let index = next
                next += 1
                group.addTask { (index, try await runOrSkip(cases[index], reference, began: began, on: loops)) }
            }
            for _ in 0..<scenario.jobs { add() }
            while let (index, result) = try await group.next() {
                switch result {
                case .success(let report): results[index] = report
                case .failure(let failure):
                    // Before the first run has ended the input may be wrong. Later ones have reports, and others go on.
                    guard hasRun else { throw failure }
                    (results[index].ending, results[index].reasons) = (.notRun, [failure.message])
                }
                let report = results[index]
                if report.result == .skipped { continue }
                hasRun = true
                StageOutput.tell(report, &told)
                if report.isFailure { tellOutput((report.output, report.droppedOutput)) }
                add()
            }
            return results
        }
    }

    private func skipped(_ stageCase: StageCase) -> RunReport {
        RunReport.skipped(stageCase, proxies: scenario.proxies, replay: repetition(stageCase))
    }

    private func runOrSkip(
        _ stageCase: StageCase,
        _ reference: Reference?,
        began: Moment,
        on loops: EventLoopGroup
    ) async throws -> Result<RunReport, CommandFailure> {
        do {
            return .success(try await runOne(stageCase, reference, began: began, on: loops))
        } catch is CancellationError {
            return .success(skipped(stageCase))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }

    private func runOne(
        _ stageCase: StageCase,
        _ reference: Reference?,
        began: Moment,
        on loops: EventLoopGroup
    ) async throws -> RunReport {
        let start = MonotonicClock.now
        let capture = captures?.path(of: fileName(of: stageCase))
        let outcome = try await stageRun(
            stageCase,
            artifacts: artifacts.map { artifactPath(of: stageCase, in: $0) },
            capture: try capture.flatMap { path throws(CommandFailure) in try captures?.opened(path) }
        )
        .run(on: loops)
        var measurements = outcome.measurements
        measurements.reference = reference?.bytes
        var report = RunReport(
            profile: stageCase.name,
            seed: stageCase.seed,
            began: start - began,
            ending: outcome.ending,
            measurements: measurements,
            reasons: scenario.failures(
                outcome.ending,
                measurements,
                coverage: outcome.coverage,
                digests: outcome.digests
            ),
            emptiness: scenario.emptiness(measurements, of: stageCase, time: outcome.timeline.duration),
            coverage: outcome.coverage,
            replay: repetition(stageCase),
            output: outcome.output.text,
            droppedOutput: outcome.output.dropped,
            timeline: outcome.timeline
        )
        report.capture = capture
        // The verdict stays, and other runs go on.
        if let failure = outcome.fileFailure { report.reasons.append(failure) }
        return report
    }

    private func stageRun(
        _ stageCase: StageCase,
        artifacts: String? = nil,
        capture: CaptureFile? = nil,
        isShown: Bool = true
    ) -> StageRun {
        StageRun(
            scenario: scenario,
            stageCase: stageCase,
            limit: limit,
            targets: targets,
            trust: trust,
            artifacts: artifacts,
            capture: capture,
            showsOutput: isShown && showsOutput
        )
    }

    /// Checks that the profiles of --shrink can be written and overwrite nothing that is read, without changing them.
    package func check(reading inputs: InputFiles) throws(CommandFailure) {
        guard shrinks else { return }
        for path in Set(scenario.cases.flatMap(shrunkPaths)).sorted() {
            try ResultFiles.check(path, called: "the profile of --shrink", reading: inputs, "--shrink")
        }
    }

    /// The paths of the profiles that --shrink finds for a case, in the order of the proxies.
    private func shrunkPaths(of stageCase: StageCase) -> [String] {
        let path = artifacts.map { artifactPath(of: stageCase, in: $0) + "-shrunk" } ?? "shrunk"
        guard scenario.proxies.count > 1 else { return ["\(path).json"] }
        return scenario.proxies.map { "\(path)-\($0.name.replacing("/", with: "_")).json" }
    }

    /// The path of a run's files without their endings.
    private func artifactPath(of stageCase: StageCase, in folder: String) -> String {
        "\(folder)/\(fileName(of: stageCase))"
    }

    /// The name of a run's files without their endings.
    private func fileName(of stageCase: StageCase) -> String {
        "\(fileNames[stageCase.name] ?? Stage.plain(stageCase.name))-seed-\(stageCase.seed)"
    }

    /// The beginning of a name that a file can have: at most 150 bytes.
    private static func plain(_ name: String) -> String {
        var plain = ""
        for character in name {
            let next = character.isLetter || character.isNumber || "-_.".contains(character) ? character : "_"
            guard plain.utf8.count + next.utf8.count <= 150 else { break }
            plain.append(next)
        }
        return plain
    }

    // MARK: The run without faults

    /// What a run without faults has shown.
    private struct Reference {
        let bytes: [Int64]
        let failures: [String]
        let output: (text: String, dropped: Int64)
    }

    /// The run without faults if the scenario compares with one; `nil` after Ctrl-C as well. Throws if that run fails.
    private func neededReference(on loops: EventLoopGroup) async throws -> Reference? {
        guard scenario.needsReference else { return nil }
        let found: Reference
        do {
            let expectations = scenario.expectations.filter { !$0.dependsOnFaults }
            found = try await measureReference(for: scenario.cases[0], expecting: expectations, on: loops)
        } catch is CancellationError {
            return nil
        }
        if found.failures.isEmpty { return found }
        tellOutput(found.output)
        let reasons = found.failures.joined(separator: "; ")
        throw CommandFailure.failed("the command fails without faults as well, so nothing is judged: \(reasons)")
    }

    /// Runs the command as in a case, but without faults, and judges it by `expectations`.
    private func measureReference(
        for stageCase: StageCase,
        expecting expectations: [Expectation],
        on loops: EventLoopGroup
    ) async throws -> Reference {
        var scenario = scenario
        scenario.expectations = expectations
        let outcome = try await stageRun(stageCase.withoutFaults).run(on: loops)
        // Another one may be expected because of the faults.
        if outcome.ending == .exit(0) { scenario.expectations.removeAll { $0.isAboutExit && $0.files.isEmpty } }
        return Reference(
            bytes: outcome.measurements.proxies.map(\.bytes),
            failures: scenario.failures(outcome.ending, outcome.measurements, digests: outcome.digests),
            output: outcome.output
        )
    }

    // MARK: Failures

    /// Whether a run without faults may explain a failure. A command that stops its guard does so again.
    private static func isUnexplained(_ run: RunReport) -> Bool {
        if case .guardLost = run.ending { return false }
        return run.result == .failed && run.ending != .notRun
    }

    /// Adds to the failed runs whether the command passes without faults, with the seed of the first of them, and which
    /// faults it takes.
    private func explain(
        _ runs: inout [RunReport],
        _ cases: [StageCase],
        _ reference: Reference?,
        on loops: EventLoopGroup
    ) async throws {
        guard let index = runs.firstIndex(where: Stage.isUnexplained) else { return }
        let failed = runs.filter(Stage.isUnexplained).map(\.measurements)
        let expectations = scenario.expectations.filter { expectation in
            // A run without faults can't meet these, and perhaps none that the failed runs have met.
            if expectation.needsReference || expectation.isAboutFaults { return false }
            return !expectation.dependsOnFaults || failed.contains { expectation.failure(of: $0, digests: [:]) != nil }
        }
        let found = try await measureReference(for: cases[index], expecting: expectations, on: loops)
        let seed = "with seed \(cases[index].seed)"
        let note =
            found.failures.isEmpty
            ? "The command passes without faults, \(seed)."
            : "The command fails without faults as well, \(seed): \(found.failures.joined(separator: "; "))."
        for index in runs.indices where Stage.isUnexplained(runs[index]) { runs[index].notes.append(note) }
        guard shrinks, found.failures.isEmpty else { return }
        let shrinking = StageShrinking(
            scenario: scenario,
            stageCase: cases[index],
            stageRun: { stageRun($0, isShown: false) },
            reference: (reference ?? found).bytes,
            paths: shrunkPaths(of: cases[index])
        )
        runs[index].notes += try await shrinking.run(on: loops)
    }

    private func tellOutput(_ output: (text: String, dropped: Int64)) {
        if !showsOutput { StageOutput.tellOutput(output.text, dropped: output.dropped) }
    }
}
