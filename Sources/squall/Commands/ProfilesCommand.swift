import ArgumentParser
import FaultProfile
import Units

/// `squall profiles`: what comes with the program.
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
            Console.print(file: String(decoding: try ProfileLibrary.source(name).bytes, as: UTF8.self).trimmingSuffix)
            return
        }
        let scenarios = ProfileLibrary.scenarios
        guard !scenarios.isEmpty else {
            throw CommandFailure.failed("no shipped profiles were found (\(ProfileLibrary.whereToLook))")
        }
        Console.print("Scenarios")
        list(scenarios)
        for group in PresetGroup.groups(of: ProfileLibrary.presets) {
            Console.print(lines: "\n\(group.title)")
            list(group.names)
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

/// The presets of one tool.
struct PresetGroup {
    /// The tool, in words.
    let title: String
    let names: [String]

    /// The tools by what the names of their presets begin with, in the order in which they are listed.
    private static let tools = [
        ("nlc", "Apple Network Link Conditioner"), ("chrome", "Chrome DevTools"),
        ("devtools", "Older lists of Chrome and Firefox"), ("lighthouse", "Lighthouse"), ("wpt", "WebPageTest"),
        ("sitespeed", "sitespeed.io throttle"), ("android", "Android emulator"), ("android5", "Android 5.1 emulator"),
        ("atc", "Facebook ATC"), ("comcast", "comcast"), ("loadero", "Loadero"), ("quic", "QUIC interop runner"),
        ("mahimahi", "mahimahi, the means of its traces"), ("wifi", "Wi-Fi, engineering defaults"),
    ]

    /// The groups of `names`; what begins with no known tool comes last.
    static func groups(of names: [String]) -> [PresetGroup] {
        let byTool = Dictionary(grouping: names) { name in String(name.prefix { $0 != "-" }) }
        let known = tools.compactMap { key, title in byTool[key].map { PresetGroup(title: title, names: $0) } }
        let others = names.filter { name in !tools.contains { name.hasPrefix("\($0.0)-") } }
        return known + (others.isEmpty ? [] : [PresetGroup(title: "Others", names: others)])
    }
}

extension String {
    /// The text without the line ends behind it.
    fileprivate var trimmingSuffix: String {
        var text = self[...]
        while text.last?.isNewline == true { text.removeLast() }
        return String(text)
    }
}
