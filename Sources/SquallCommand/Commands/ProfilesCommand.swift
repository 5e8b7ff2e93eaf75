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
            Those of Squall come first, then the presets of other tools, each found by its name, such as nlc-3g. What the \
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
        // The name of a file of presets is a part of their names.
        if case .shipped = ProfileReference(filter, in: ""), try ProfileLibrary.presets(of: source) != nil {
            let sections = ProfilesCommand.sections(matching: filter)
            if !sections.isEmpty { return show(sections) }
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
        var sections: [Section] = [("Profiles", entries(of: ProfileLibrary.ownProfiles))]
        var others: [(name: String, summary: String)] = []
        for file in ProfileLibrary.presetFiles {
            // A file is read once for all of its presets, unless one has problems.
            let presets = file.source.flatMap { try? ProfileLibrary.presets(of: $0) }
            let entries = presets?.map { ($0.name, shown($0.summary)) } ?? entries(of: file.names)
            if file.title == "Others" { others += entries } else { sections.append((file.title, entries)) }
        }
        let plain = filter.lowercased()
        return (sections + [("Others", others)]).compactMap { section in
            let entries = section.entries.filter {
                plain.isEmpty || $0.name.lowercased().contains(plain) || $0.summary.lowercased().contains(plain)
            }
            return entries.isEmpty ? nil : (section.title.shortened(to: ProfileLimits.textLength), entries)
        }
    }

    private static func entries(of names: [String]) -> [(name: String, summary: String)] {
        names.map { name in
            do throws(CommandFailure) {
                return (name, shown(try ProfileLibrary.profile(name).summary))
            } catch {
                return (name, "has problems, see squall check \(name)")
            }
        }
    }

    private static func shown(_ summary: String) -> String { summary.shortened(to: ProfileLimits.textLength) }

    private func show(_ sections: [Section]) {
        for (index, section) in sections.enumerated() {
            Console.print(lines: (index > 0 ? "\n" : "") + section.title)
            let width = section.entries.map(\.name.count).max() ?? 0
            // In a pipe a profile has one line.
            let room = Console.isOutputTerminal ? max(20, TerminalAbilities.columns - width - 4) : Int.max
            for entry in section.entries {
                let space = String(repeating: " ", count: width - entry.name.count)
                let lines = TerminalText.wrapped(entry.summary.visibleLine, to: room)
                let indent = "\n" + String(repeating: " ", count: width + 4)
                Console.print(lines: "  \(entry.name)\(space)  \(lines.joined(separator: indent))")
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
