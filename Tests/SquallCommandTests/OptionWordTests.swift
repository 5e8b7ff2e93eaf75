import ArgumentParser
import Testing

@testable import CommandParsing
@testable import SquallCommand

/// The words for commands and options that aren't ones.
struct OptionWordTests {
    @Test(
        arguments: Array(Set(OptionWords.table.flatMap { $0.commands.split(separator: " ").map(String.init) })).sorted()
    )
    func `an answer names options that the command has, to one that it hasn't`(command: String) throws {
        let type = try #require(Squall.configuration.subcommands.first { $0.configuration.commandName == command })
        let described = Squall.helpMessage(for: type).split(separator: "\n").filter { $0.hasPrefix("  -") }
        let words = Set(described.flatMap { $0.split { $0 == " " || $0 == "," }.prefix(2).map(String.init) })
        for entry in OptionWords.table where entry.isAbout(command) {
            for option in entry.options.split(separator: " ") {
                let first = OptionWords.table.first { $0.isAbout(command) && $0.isNamed(option) }
                guard first?.answer == entry.answer else { continue }
                #expect(!words.contains(String(option)), "\(command) has \(option)")
            }
            for match in entry.answer.matches(of: /--[a-z0-9-]+/) {
                #expect(words.contains(String(match.output)), "\(command) has no \(match.output)")
            }
        }
    }

    @Test func `a word for a command isn't one`() {
        let names = Squall.configuration.subcommands.compactMap { $0.configuration.commandName }
        for entry in CommandWords.table {
            for word in entry.words.split(separator: " ") { #expect(!names.contains(String(word)), "\(word)") }
        }
    }
}
