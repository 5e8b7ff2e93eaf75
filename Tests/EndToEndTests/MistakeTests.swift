import Foundation
import Testing

/// Typical mistakes, in the files of `Tests/Mistakes`: each message names the place and the right word.
@Suite(.timeLimit(.minutes(5))) struct MistakeTests {
    /// A mistake: a file, a command line, and what is expected of the message.
    struct Mistake: Sendable, CustomTestStringConvertible {
        let title: String
        var arguments = ["check", "mistake.json"]
        var file: [String] = []
        /// The places, empty for a command line, and the texts that the messages contain.
        var expectations: [(place: String, text: String)] = []

        var testDescription: String { title }
    }

    @Test(arguments: ["profiles", "scenarios", "commands"])
    func `each message names the place and the right word`(name: String) async throws {
        for mistake in try MistakeTests.mistakes(in: name) {
            try await withFolder { folder in
                if !mistake.file.isEmpty {
                    let path = folder.appendingPathComponent(mistake.arguments[1])
                    try Data((mistake.file.joined(separator: "\n") + "\n").utf8).write(to: path)
                }
                let outcome = try await withChild(Programs.squall, mistake.arguments, folder: folder) { child in
                    await child.finish()
                }
                #expect(outcome.status == 2, "\(mistake.title)")
                #expect(outcome.output.isEmpty, "\(mistake.title)")
                for (place, text) in mistake.expectations {
                    let start = place.isEmpty ? "" : "\(mistake.arguments[1]):\(place): "
                    let isNamed = outcome.errorLines.contains { $0.hasPrefix(start) && $0.contains(text) }
                    #expect(isNamed, "\(mistake.title): “\(start)” and “\(text)” are not in \(outcome.errors)")
                }
            }
        }
    }

    @Test func `there are fifty of them and more, each with an expectation`() throws {
        let mistakes = try ["profiles", "scenarios", "commands"].flatMap { try MistakeTests.mistakes(in: $0) }
        #expect(mistakes.count >= 50)
        #expect(mistakes.filter(\.expectations.isEmpty).map(\.title) == [])
    }

    /// The mistakes of a file.
    private static func mistakes(in name: String) throws -> [Mistake] {
        let text = try String(
            contentsOf: Repository.root.appendingPathComponent("Tests/Mistakes/\(name).txt"),
            encoding: .utf8
        )
        var mistakes: [Mistake] = []
        for line in text.split(separator: "\n") {
            let content = String(line.dropFirst(2))
            switch line.prefix(2) {
            case "##": mistakes.append(Mistake(title: "\(name):\(content)"))
            case "$ ": mistakes[mistakes.count - 1].arguments = content.split(separator: " ").map(String.init)
            case "| ": mistakes[mistakes.count - 1].file.append(content)
            case "> ":
                let place = content.prefix { "0123456789:".contains($0) }
                let isPlace = place.contains(":") && name != "commands"
                let text = isPlace ? String(content.dropFirst(place.count + 1)) : content
                mistakes[mistakes.count - 1].expectations.append((isPlace ? String(place) : "", text))
            default: break
            }
        }
        return mistakes
    }
}
