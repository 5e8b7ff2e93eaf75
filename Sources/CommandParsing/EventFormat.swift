import ArgumentParser
import FoundationEssentials
import TerminalDisplay
import Units

/// The output format of a subcommand: text for people, or JSON Lines for programs.
package enum EventFormat: String, ExpressibleByArgument, CaseIterable {
    /// Progress on a terminal, and a summary at the end.
    case text
    /// JSON objects on standard output, one per line, and nothing else.
    case json

    /// Writes `event` as a line of JSON with its keys in alphabetical order.
    package static func writeJSON(_ event: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(event) else { return }
        Console.print(String(decoding: data, as: UTF8.self).visibleJSON)
    }
}
