import ArgumentParser
import FaultProfile

/// `squall profiles`: what comes with the program.
struct ProfilesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profiles",
        abstract: "List the shipped profiles, or print one of them."
    )

    @Argument(help: "The profile to print; without it all are listed.")
    var name: String?

    func run() throws {
        if let name {
            Console.print(String(decoding: try ProfileLibrary.source(name).bytes, as: UTF8.self).trimmingSuffix)
            return
        }
        let names = ProfileLibrary.names
        guard !names.isEmpty else {
            throw CommandFailure.failed("no shipped profiles were found (set SQUALL_PROFILES to their folder)")
        }
        let width = names.map(\.count).max() ?? 0
        for name in names {
            let profile = try ProfileLibrary.profile(name)
            Console.print("\(name)\(String(repeating: " ", count: width - name.count))  \(profile.summary)")
        }
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
