import ArgumentParser
import CommandParsing
import FaultProfile
import ProfileFiles
import TerminalDisplay

/// `squall check`: reports every problem of a profile before anything runs.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Name every problem of one or more profiles, with file, line, column and what to do.",
        discussion: """
            A valid profile may have warnings, about parts that probably do something else than they were written for. They \
            don't change the exit code.

            --format json, github and sarif write the problems on standard output for programs: a list of objects, \
            annotations of a workflow of GitHub, and SARIF 2.1.0. The exit code is the same.

            Example: squall check --format github profiles/*.json
            """
    )

    @Argument(
        help: """
            Profiles: paths, names of shipped ones, or - for standard input. A file of presets is checked with all of \
            them.
            """,
        completion: ProfileCompletion.kind
    )
    var profiles: [String]

    @Option(help: "How the problems are written: text, json, github or sarif.")
    var format = CheckFormat.text

    func run() throws {
        var failures: [CommandFailure] = []
        var warnings: [Problem] = []
        for reference in profiles {
            do {
                let (inventory, doubts) = try CheckCommand.inventory(of: reference)
                warnings += doubts
                guard format == .text else { continue }
                if !doubts.isEmpty { Console.error(lines: doubts.map(\.description).joined(separator: "\n")) }
                Console.print("\(reference): fine (\(inventory))")
            } catch {
                failures.append(error)
            }
        }
        switch format {
        case .text:
            guard failures.isEmpty else {
                Console.error(lines: failures.map(\.lines).joined(separator: "\n"))
                break
            }
        case .json, .github, .sarif:
            let report = format.report(failures.flatMap(\.problems) + warnings)
            if !report.isEmpty { Console.print(lines: report) }
        }
        guard failures.isEmpty else { throw ExitCode(ExitStatus.wrongInput.rawValue) }
    }

    /// What is in the profile, or the file of presets, under `reference`, and the warnings about the profile.
    private static func inventory(of reference: String) throws(CommandFailure) -> (text: String, doubts: [Problem]) {
        let source = try ProfileLibrary.source(reference)
        if let presets = try ProfileLibrary.presets(of: source) { return (count(presets.count, "preset"), []) }
        let profile = try ProfileLibrary.profile(reference)
        let phases =
            profile.phases.count
            + profile.proxies.reduce(0) { sum, proxy in
                sum + (proxy.phases?.count ?? 0) + (proxy.profile?.phases.count ?? 0)
            }
        let proxies = profile.hasFaultsOfProxies ? ", \(count(profile.proxies.count, "proxy", "proxies"))" : ""
        let doubts = ProfileReader.doubts(about: profile, from: source)
        let warnings = doubts.isEmpty ? "" : "; \(count(doubts.count, "warning"))"
        return ("\(count(profile.allFaults.count, "fault")), \(count(phases, "phase"))\(proxies)\(warnings)", doubts)
    }

    private static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(number == 0 ? "no" : String(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }
}
