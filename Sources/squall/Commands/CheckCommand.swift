import ArgumentParser
import FaultProfile

/// `squall check`: reports every problem of a profile before anything runs.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Name every problem of one or more profiles, with file, line, column and what to do."
    )

    @Argument(
        help: """
            Profiles: paths, names of shipped ones, or - for standard input. A file of presets is checked with all of \
            them.
            """
    )
    var profiles: [String]

    func run() throws {
        var problems: [String] = []
        for reference in profiles {
            do {
                let source = try ProfileLibrary.source(reference)
                if let presets = try ProfileLibrary.presets(of: source) {
                    Console.print("\(reference): fine (\(CheckCommand.count(presets.count, "preset")))")
                    continue
                }
                let profile = try ProfileLibrary.profile(reference)
                Console.print("\(reference): fine (\(CheckCommand.inventory(of: profile)))")
            } catch {
                problems.append(error.lines)
            }
        }
        guard problems.isEmpty else {
            Console.error(lines: problems.joined(separator: "\n"))
            throw ExitCode(ExitStatus.wrongInput.rawValue)
        }
    }

    private static func inventory(of profile: Profile) -> String {
        let phases =
            profile.phases.count
            + profile.proxies.reduce(0) { sum, proxy in
                sum + (proxy.phases?.count ?? 0) + (proxy.profile?.phases.count ?? 0)
            }
        let proxies = profile.hasFaultsOfProxies ? ", \(count(profile.proxies.count, "proxy", "proxies"))" : ""
        return "\(count(profile.allFaults.count, "fault")), \(count(phases, "phase"))\(proxies)"
    }

    private static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(number == 0 ? "no" : String(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }
}
