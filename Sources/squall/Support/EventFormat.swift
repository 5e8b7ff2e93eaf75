import ArgumentParser
import FoundationEssentials
import Units

/// How a subcommand tells what happens: to a person, or as JSON Lines for a program.
enum EventFormat: String, ExpressibleByArgument, CaseIterable {
    /// Progress on a terminal, a summary at the end.
    case text
    /// One JSON object a line on standard output, and nothing else there.
    case json

    /// Writes `event` as a line of JSON with its keys in alphabetical order.
    static func writeJSON(_ event: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(event) else { return }
        Console.print(String(decoding: data, as: UTF8.self).visibleJSON)
    }
}
