import ArgumentParser
import FaultProfile

/// `squall check`: every problem of a profile, before anything runs.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Name every problem of one or more profiles, with file, line, column and what to do."
    )

    @Argument(help: "Profiles: paths, or names of shipped ones.")
    var profiles: [String]

    func run() throws {
        var problems: [String] = []
        for reference in profiles {
            do {
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
        let faults = profile.faults.count + profile.phases.reduce(0) { $0 + $1.faults.count }
        return "\(count(faults, "fault")), \(count(profile.phases.count, "phase"))"
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number == 0 ? "no" : String(number)) \(noun)\(number == 1 ? "" : "s")"
    }
}
