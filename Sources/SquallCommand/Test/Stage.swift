import ChaosStage
import EventLoop
import FoundationEssentials
import ProxyEngine
import Synchronization
import Units

/// A chaos stage: runs each case, judges it, and reports.
struct Stage {
    let scenario: Scenario
    let repetition: StageRepetition
    let limits: LimitOptions
    let reports: TestReportOptions
    let shrinks: Bool
    let showsOutput: Bool

    /// Runs the stage until Ctrl-C. Throws if a run failed.
    func run() async throws {
        ProcessLimits.raiseOpenFiles()
        let loops: EventLoopGroup
        let interrupt: Interrupt
        do throws(SystemError) {
            loops = try EventLoopGroup(count: 0)
            interrupt = try await Interrupt.watch(on: loops.loops[0])
        } catch {
            throw CommandFailure.failed("can't start the event loops: \(error)")
        }
        let work = Task { try await perform(on: loops) }
        Task {
            await interrupt.wait()
            work.cancel()
        }
        do {
            try await work.value
        } catch is CancellationError {
            throw CommandFailure.failed("interrupted: the stage has no result")
        }
        await loops.stop()
    }

    private func perform(on loops: EventLoopGroup) async throws {
        let began = MonotonicClock.now
        let date = Date()
        let cases = scenario.cases
        var reference: Reference?
        if scenario.needsReference {
            let found = try await measureReference(on: loops)
            guard found.failures.isEmpty else {
                tellOutput(found.output)
                let reasons = found.failures.joined(separator: "; ")
                throw CommandFailure.failed(
                    "the command fails without faults as well, so nothing is judged: \(reasons)"
                )
            }
            reference = found
        }
        var runs = try await runAll(cases, reference, began: began, on: loops)
        scenario.noteVacuous(&runs)
        if runs.contains(where: { !$0.hasPassed }) {
            try await explain(&runs, cases, reference, on: loops)
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
        try reports.write(report)
        guard report.hasPassed else {
            throw CommandFailure.failed(report.verdict)
        }
    }

    // MARK: Runs

    private func runAll(
        _ cases: [StageCase],
        _ reference: Reference?,
        began: Moment,
        on loops: EventLoopGroup
    ) async throws -> [RunReport] {
        try await withThrowingTaskGroup(of: (Int, RunReport).self) { group in
            var results = [RunReport?](repeating: nil, count: cases.count)
            var next = 0
            func add() {
                guard next < cases.count else { return }
                let index = next
                next += 1
                group.addTask { (index, try await runOne(cases[index], reference, began: began, on: loops)) }
            }
            for _ in 0..<scenario.jobs { add() }
            while let (index, report) = try await group.next() {
                results[index] = report
                StageOutput.tell(report)
                if !report.hasPassed, !showsOutput { tellOutput((report.output, report.droppedOutput)) }
                add()
            }
            return results.compactMap { $0 }
        }
    }

    private func runOne(
        _ stageCase: StageCase,
        _ reference: Reference?,
        began: Moment,
        on loops: EventLoopGroup
    ) async throws -> RunReport {
        let start = MonotonicClock.now
        let outcome = try await stageRun(
            stageCase,
            artifacts: reports.artifacts.map { artifactPath(of: stageCase, in: $0) }
        )
        .run(on: loops)
        var measurements = outcome.measurements
        measurements.reference = reference?.figures
        return RunReport(
            profile: stageCase.name,
            seed: stageCase.seed,
            began: start - began,
            ending: outcome.ending,
            measurements: measurements,
            reasons: scenario.failures(outcome.ending, measurements, digests: outcome.digests),
            replay: repetition.line(of: stageCase),
            output: outcome.output.text,
            droppedOutput: outcome.output.dropped,
            timeline: outcome.timeline
        )
    }

    private func stageRun(_ stageCase: StageCase, artifacts: String? = nil) -> StageRun {
        StageRun(
            scenario: scenario,
            stageCase: stageCase,
            limits: limits,
            artifacts: artifacts,
            showsOutput: showsOutput
        )
    }

    /// The path of a run's files without their endings. A profile's name may be any text.
    private func artifactPath(of stageCase: StageCase, in folder: String) -> String {
        let plain = stageCase.name.map { $0.isLetter || $0.isNumber || "-_.".contains($0) ? $0 : "_" }
        return "\(folder)/\(String(plain.prefix(100)))-seed-\(stageCase.seed)"
    }

    // MARK: The run without faults

    /// What a run without faults has shown.
    private struct Reference {
        let figures: Measurements.Reference
        let failures: [String]
        let output: (text: String, dropped: Int64)
    }

    private func measureReference(on loops: EventLoopGroup) async throws -> Reference {
        var scenario = scenario
        // No fault is there to act, and there is nothing to compare with.
        scenario.allowsVacuous = true
        scenario.expectations.removeAll { $0.needsReference || $0.isAboutFaults }
        let stageCase = self.scenario.cases[0].withoutFaults
        let outcome = try await stageRun(stageCase).run(on: loops)
        return Reference(
            figures: Measurements.Reference(
                time: outcome.measurements.time,
                bytes: outcome.measurements.proxies.map(\.bytes)
            ),
            failures: scenario.failures(outcome.ending, outcome.measurements, digests: outcome.digests),
            output: outcome.output
        )
    }

    // MARK: Failures

    /// Adds to the failed runs whether the command passes without faults, and which faults it takes.
    private func explain(
        _ runs: inout [RunReport],
        _ cases: [StageCase],
        _ reference: Reference?,
        on loops: EventLoopGroup
    ) async throws {
        let found: Reference
        if let reference { found = reference } else { found = try await measureReference(on: loops) }
        let note =
            found.failures.isEmpty
            ? "The command passes without faults."
            : "The command fails without faults as well: \(found.failures.joined(separator: "; "))."
        for index in runs.indices where !runs[index].hasPassed { runs[index].notes.append(note) }
        guard shrinks, found.failures.isEmpty, let index = runs.firstIndex(where: { !$0.hasPassed }) else { return }
        let path = reports.artifacts.map { artifactPath(of: cases[index], in: $0) + "-shrunk" } ?? "shrunk"
        let shrinking = StageShrinking(
            scenario: scenario,
            stageCase: cases[index],
            limits: limits,
            reference: found.figures,
            path: path
        )
        runs[index].notes += try await shrinking.run(on: loops)
    }

    private func tellOutput(_ output: (text: String, dropped: Int64)) {
        if !showsOutput { StageOutput.tellOutput(output.text, dropped: output.dropped) }
    }
}
