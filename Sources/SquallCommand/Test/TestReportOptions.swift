import ArgumentParser
import ChaosStage
import EventLoop
import FoundationEssentials
import ProfileFiles
import ProxyRunners
import SystemPackage
import TerminalDisplay
import Units

/// The reports of `squall test`.
struct TestReportOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Write a JUnit XML report, for CI servers.", valueName: "file"), completion: .file())
    var junit: String?

    @Option(help: ArgumentHelp("Write a TAP report (version 14).", valueName: "file"), completion: .file())
    var tap: String?

    @Option(
        help: ArgumentHelp("Write a page with the timeline of each run; it needs no other file.", valueName: "file"),
        completion: .file()
    )
    var html: String?

    @Option(
        help: ArgumentHelp("Write the timeline of the first failed run, or of the first, as SVG.", valueName: "file"),
        completion: .file()
    )
    var svg: String?

    @Option(
        help: ArgumentHelp(
            "Write each run's journal (.jsonl) and the command's output (.log) there.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var artifacts: String?

    @Option(
        help: ArgumentHelp(
            "Write a capture of each run there for Wireshark (.pcapng); the page of --html links it.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var pcap: String?

    func validate() throws {
        if pcap == "-" { throw ValidationError("--pcap is a folder here: write --pcap FOLDER") }
    }

    /// The captures of the runs, if they are asked for.
    func captures(_ limits: CaptureLimitOptions) -> RunCaptures? {
        pcap.map { RunCaptures(folder: $0, limits.settings(of: "")) }
    }

    /// The files and their options.
    private var files: [(option: String, path: String)] {
        [("--junit", junit), ("--tap", tap), ("--html", html), ("--svg", svg)].compactMap { option, path in
            path.map { (option, $0) }
        }
    }

    /// Checks that everything can be written, before the first run.
    func check(reading inputs: InputFiles) throws(CommandFailure) {
        for (option, folder) in [("--artifacts", artifacts), ("--pcap", pcap)] {
            guard let folder else { continue }
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            } catch {
                throw .wrongInput("can't make the folder “\(folder)”: \(FileProblem.reason(error)) (\(option))")
            }
        }
        // A report may be in one of the folders.
        for (index, file) in files.enumerated() {
            try ResultFiles.check(file.path, reading: inputs, file.option)
            if files[..<index].contains(where: { FileProblem.isSamePlace($0.path, file.path) }) {
                throw .wrongInput("“\(file.path)” is named twice (\(file.option)): name another file")
            }
        }
    }

    /// Writes the reports. All are tried; throws the first failure.
    func write(_ report: StageReport) throws(CommandFailure) {
        var failure: CommandFailure?
        for (path, text) in texts(report) {
            do throws(CommandFailure) {
                try OutputFile(path: path).write(text())
            } catch {
                failure = failure ?? error
            }
        }
        do throws(CommandFailure) {
            try tellGitHub(report)
        } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    private func texts(_ report: StageReport) -> [(path: String, text: () -> String)] {
        var texts: [(String, () -> String)] = []
        if let junit { texts.append((junit, { JUnitReport.text(of: report) })) }
        if let tap { texts.append((tap, { TAPReport.text(of: report) })) }
        if let html { texts.append((html, { HTMLReport.text(of: TestReportOptions.linked(report, from: html)) })) }
        let run = report.runs.first(where: \.isFailure) ?? report.runs.first { $0.result != .skipped }
        if let svg, let run = run ?? report.runs.first { texts.append((svg, { SVGReport.text(of: run) })) }
        return texts
    }

    /// The report with the paths of captures relative to the page at `page`.
    private static func linked(_ report: StageReport, from page: String) -> StageReport {
        func components(_ path: String) -> [String] {
            let folder = FilePath(FileManager.default.currentDirectoryPath)
            return folder.pushing(FilePath(path)).lexicallyNormalized().components.map(\.string)
        }
        let base = components(page).dropLast()
        var report = report
        for index in report.runs.indices {
            guard let path = report.runs[index].capture.map(components) else { continue }
            let common = zip(base, path).prefix { $0 == $1 }.count
            let parts = Array(repeating: "..", count: base.count - common) + path.dropFirst(common)
            report.runs[index].capture = parts.joined(separator: "/")
        }
        return report
    }

    /// In a workflow of GitHub: a summary of the step, and a note on each failed run.
    private func tellGitHub(_ report: StageReport) throws(CommandFailure) {
        let environment = ProcessInfo.processInfo.environment
        if environment["GITHUB_ACTIONS"] == "true" {
            for line in GitHubReport.annotations(of: report) { Console.print(line) }
        }
        guard let path = environment["GITHUB_STEP_SUMMARY"], !path.isEmpty else { return }
        do {
            let file = try SystemPackage.FileDescriptor.open(
                FilePath(path),
                .writeOnly,
                options: [.create, .append, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead]
            )
            try file.closeAfter { _ = try file.writeAll(GitHubReport.summary(of: report).utf8) }
        } catch {
            throw .failed("can't write the summary “\(path)”: \(FileProblem.reason(error)) (GITHUB_STEP_SUMMARY)")
        }
    }
}
