import ChaosStage
import FaultProfile
import TestStreams
import Testing
import Units

/// Runs that show nothing or have no end, in every report.
struct ResultTests {
    private static let why = "no fault acted # at all"

    private func empty(isFailure: Bool) -> RunReport {
        var run = SampleReports.walk(seed: 1)
        run.emptiness = RunReport.Emptiness(reason: Self.why, isFailure: isFailure)
        return run
    }

    private var skipped: RunReport {
        var run = SampleReports.walk(seed: 2)
        run.ending = .interrupted
        return run
    }

    @Test func `a run is what its reasons, its emptiness and its ending make of it`() {
        #expect(SampleReports.walk(seed: 1).result == .passed)
        #expect(SampleReports.walk(seed: 1, reasons: ["no"]).result == .failed)
        #expect(empty(isFailure: true).result == .empty && empty(isFailure: true).isFailure)
        #expect(empty(isFailure: false).result == .empty && !empty(isFailure: false).isFailure)
        #expect(skipped.result == .skipped && !skipped.isFailure)
        var both = empty(isFailure: true)
        both.reasons = ["no"]
        #expect(both.result == .failed && both.findings == ["no", Self.why])
    }

    @Test func `the verdict names each result, and an interrupted stage hasn't passed`() {
        let (passed, failed) = (SampleReports.walk(seed: 1), SampleReports.walk(seed: 1, reasons: ["no"]))
        func verdict(_ runs: RunReport...) -> String { SampleReports.stage(runs).verdict }
        #expect(verdict(empty(isFailure: true)) == "the run is empty")
        #expect(verdict(passed, empty(isFailure: false), passed) == "1 of 3 runs is empty")
        #expect(verdict(failed, empty(isFailure: true), failed) == "2 of 3 runs failed, 1 is empty")
        #expect(verdict(passed, failed, skipped) == "interrupted: 2 of 3 runs finished, 1 failed")
        #expect(verdict(skipped) == "interrupted: 0 of 1 run finished")
        #expect(!SampleReports.stage([passed, skipped]).hasPassed)
        #expect(SampleReports.stage([passed, empty(isFailure: false)]).hasPassed)
    }

    @Test
    func `JUnit has an empty run as a failure of a type of its own, or as skipped where the stage passes with it`() {
        let runs = [empty(isFailure: true), empty(isFailure: false), skipped]
        let document = ParsedXML(JUnitReport.text(of: SampleReports.stage(runs)))
        #expect(document.problem == nil)
        #expect(document["testsuite"][0].attributes["failures"] == "1")
        #expect(document["testsuite"][0].attributes["skipped"] == "2")
        #expect(document["failure"].map { $0.attributes["type"] } == ["squall.empty"])
        #expect(document["failure"].map { $0.attributes["message"] } == [Self.why])
        #expect(document["skipped"].map { $0.attributes["message"] } == [Self.why, "the stage was interrupted"])
    }

    @Test func `TAP skips what shows nothing, and bails out of an interrupted stage`() {
        let runs = [empty(isFailure: true), empty(isFailure: false), skipped]
        let lines = TAPReport.text(of: SampleReports.stage(runs)).split(separator: "\n")
        #expect(lines.contains("not ok 1 - wifi-walkaway, seed 1"))
        #expect(lines.contains("  severity: empty"))
        #expect(lines.contains("ok 2 - wifi-walkaway, seed 1 # SKIP empty: no fault acted \\# at all"))
        #expect(lines.contains("ok 3 - wifi-walkaway, seed 2 # SKIP skipped: the stage was interrupted"))
        #expect(lines.last == "Bail out! the stage was interrupted")
    }

    @Test func `pages, pictures and summaries have the word of the result, and the coverage`() {
        var run = empty(isFailure: true)
        let phase = Phase(name: "quick & dirty", duration: .seconds(1), faults: [])
        let profile = Profile(name: "x", phases: [Phase(name: "calm", duration: .seconds(9)), phase])
        run.coverage = [Coverage(of: profile, seed: 1, proxy: "app", time: .seconds(1), acted: [])]
        let stage = SampleReports.stage([run, empty(isFailure: false), skipped])
        let page = HTMLReport.text(of: stage)
        #expect(page.contains(#"<span class="badge bad">empty</span>"#))
        #expect(page.contains(#"<span class="badge idle">empty</span>"#))
        #expect(page.contains(#"<td role="cell" class="idle">– skipped</td>"#))
        #expect(page.contains("<li>met 1 of 2 phases</li>"))
        #expect(SVGReport.text(of: run).contains("∅ empty: \(Self.why)"))
        let summary = GitHubReport.summary(of: stage)
        #expect(summary.contains("| ❌ **empty** |") && summary.contains("| ⚪ empty |"))
        #expect(summary.contains("| ⚪ skipped |") && summary.contains("- met 1 of 2 phases\n"))
        #expect(GitHubReport.annotations(of: stage).count == 1)
    }
}
