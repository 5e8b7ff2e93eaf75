import ChaosStage
import Foundation
import Testing

/// The reports that Tests/System/page/reports.py opens, written when the environment variable `SQUALL_REPORT_SAMPLES` names a
/// folder.
struct ReportSamples {
    static let folder = ProcessInfo.processInfo.environment["SQUALL_REPORT_SAMPLES"]

    @Test(.enabled(if: ReportSamples.folder != nil))
    func `the samples are written`() throws {
        let folder = URL(fileURLWithPath: try #require(ReportSamples.folder), isDirectory: true)
        var hours = Array(repeating: SampleReports.hour(seed: 0, reasons: []), count: 100)
        for index in hours.indices { hours[index].seed = UInt64(index) }
        hours[50].reasons = ["expected “exit == 0”: exit is 1"]
        let hour = SampleReports.stage([SampleReports.hour(seed: 1)], name: "sync on the way to work")
        let lost = SampleReports.walk(seed: 3, reasons: ["resumptions >= 1 doesn't hold: resumptions is 0"])
        let pair = SampleReports.stage([lost, SampleReports.walk(seed: 1)])
        let files = [
            "matrix.html": HTMLReport.text(of: SampleReports.matrix),
            "pair.html": HTMLReport.text(of: pair),
            "passed.html": HTMLReport.text(of: SampleReports.stage([SampleReports.walk(seed: 1)])),
            "hour.html": HTMLReport.text(of: hour),
            "many.html": HTMLReport.text(of: SampleReports.stage(hours, name: "sync on the way to work")),
            "hostile.html": HTMLReport.text(of: SampleReports.hostileStage),
            "empty.html": HTMLReport.text(of: SampleReports.stage([])),
            "walk.svg": SVGReport.text(of: SampleReports.walk(seed: 1)),
            "services.svg": SVGReport.text(of: SampleReports.services(seed: 1)),
            "hour.svg": SVGReport.text(of: SampleReports.hour(seed: 1)),
            "hostile.svg": SVGReport.text(of: SampleReports.hostileRun),
            "matrix.xml": JUnitReport.text(of: SampleReports.matrix),
            "hostile.xml": JUnitReport.text(of: SampleReports.hostileStage),
            "matrix.tap": TAPReport.text(of: SampleReports.matrix),
            "hostile.tap": TAPReport.text(of: SampleReports.hostileStage),
            "matrix.md": GitHubReport.summary(of: SampleReports.matrix),
            "hostile.md": GitHubReport.summary(of: SampleReports.hostileStage),
        ]
        for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
    }
}
