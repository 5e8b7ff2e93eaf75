import ArgumentParser
import FaultProfile
import Units

/// `squall profiles`: lists the shipped profiles.
struct ProfilesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profiles",
        abstract: "List the shipped profiles, or print one of them.",
        discussion: """
            Scenarios come first, then the presets of other tools, each found by its name, such as nlc-3g. What the \
            figures of a preset are taken from is in it, as its source.

            Example: squall profiles wpt-3g-fast
            """
    )

    @Argument(help: "The profile to print; without it all are listed.")
    var name: String?

    func run() throws {
        if let name {
            let source = try ProfileLibrary.source(name)
            let text =
                source.preset == nil
                ? String(decoding: source.bytes, as: UTF8.self)
                : ProfileWriter.text(of: try ProfileLibrary.profile(name))
            Console.print(file: text.trimmingSuffix)
            return
        }
        let scenarios = ProfileLibrary.scenarios
        guard !scenarios.isEmpty else {
            throw CommandFailure.failed("no shipped profiles were found (\(ProfileLibrary.whereToLook))")
        }
        Console.print("Scenarios")
        list(scenarios)
        let files = ProfileLibrary.presetFiles
        for file in files where file.title != "Others" {
            Console.print(lines: "\n\(file.title.shortened(to: ProfileLimits.textLength))")
            list(file.names)
        }
        let others = files.filter { $0.title == "Others" }.flatMap(\.names)
        if !others.isEmpty {
            Console.print(lines: "\nOthers")
            list(others)
        }
    }

    private func list(_ names: [String]) {
        let width = names.map(\.count).max() ?? 0
        for name in names {
            let summary: String
            do throws(CommandFailure) {
                summary = try ProfileLibrary.profile(name).summary.shortened(to: ProfileLimits.textLength)
            } catch {
                summary = "has problems, see squall check \(name)"
            }
            Console.print("  \(name)\(String(repeating: " ", count: width - name.count))  \(summary)")
        }
    }
}

extension String {
    /// The text without trailing line breaks.
    fileprivate var trimmingSuffix: String {
        var text = self[...]
        while text.last?.isNewline == true { text.removeLast() }
        return String(text)
    }
}
