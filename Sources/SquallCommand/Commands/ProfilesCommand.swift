import ArgumentParser
import CommandParsing
import FaultProfile
import ProfileFiles
import TerminalDisplay
import Units

/// `squall profiles`: lists the shipped profiles.
struct ProfilesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profiles",
        abstract: "List the shipped profiles, all or those that match a word, or print one of them.",
        discussion: """
            Scenarios come first, then the presets of other tools, each found by its name, such as nlc-3g. What the \
            figures of a preset are taken from is in it, as its source.

            Example: squall profiles 3g
            Example: squall profiles wpt-3g-fast
            """
    )

    @Argument(
        help: """
            The name of the profile to print, or a part of the names or summaries to list; without it all are listed.
            """,
        completion: ProfileCompletion.kind
    )
    var filter: String?

    func run() throws {
        guard let filter else {
            let sections = ProfilesCommand.sections(matching: "")
            guard !sections.isEmpty else {
                throw CommandFailure.failed("no shipped profiles were found (\(ProfileLibrary.whereToLook))")
            }
            return show(sections)
        }
        let source: ProfileSource
        do throws(CommandFailure) {
            source = try ProfileLibrary.source(filter)
        } catch {
            guard case .shipped = ProfileReference(filter, in: "") else { throw error }
            let sections = ProfilesCommand.sections(matching: filter)
            guard !sections.isEmpty else { throw error }
            return show(sections)
        }
        let text =
            source.preset == nil
            ? String(decoding: source.bytes, as: UTF8.self)
            : ProfileWriter.text(of: try ProfileLibrary.profile(filter))
        Console.print(file: text.trimmingSuffix)
    }

    /// A heading, and profiles with their summaries.
    private typealias Section = (title: String, entries: [(name: String, summary: String)])

    /// The profiles whose name or summary contains `filter`, in any letter case, below the headings that have any.
    private static func sections(matching filter: String) -> [Section] {
        let files = ProfileLibrary.presetFiles
        let others = files.filter { $0.title == "Others" }.flatMap(\.names)
        let sections =
            [(title: "Scenarios", names: ProfileLibrary.scenarios)] + files.filter { $0.title != "Others" }
            + [(title: "Others", names: others)]
        let plain = filter.lowercased()
        return sections.compactMap { section in
            let entries = section.names.map { (name: $0, summary: summary(of: $0)) }.filter {
                plain.isEmpty || $0.name.lowercased().contains(plain) || $0.summary.lowercased().contains(plain)
            }
            return entries.isEmpty ? nil : (section.title.shortened(to: ProfileLimits.textLength), entries)
        }
    }

    private static func summary(of name: String) -> String {
        do throws(CommandFailure) {
            return try ProfileLibrary.profile(name).summary.shortened(to: ProfileLimits.textLength)
        } catch {
            return "has problems, see squall check \(name)"
        }
    }

    private func show(_ sections: [Section]) {
        for (index, section) in sections.enumerated() {
            Console.print(lines: (index > 0 ? "\n" : "") + section.title)
            let width = section.entries.map(\.name.count).max() ?? 0
            for entry in section.entries {
                let space = String(repeating: " ", count: width - entry.name.count)
                Console.print("  \(entry.name)\(space)  \(entry.summary)")
            }
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
