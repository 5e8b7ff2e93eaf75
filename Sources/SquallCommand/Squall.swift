import ArgumentParser
import CommandParsing
import ControlCommands
import Demonstration
import OperatingSystem
import QueueService
import Units

/// The `squall` command: its subcommands and their common exit codes.
struct Squall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "squall",
        abstract: "A network fault-injection proxy: cuts, throttles, delays and stalls connections as a profile says.",
        discussion: """
            Exit codes: 0 done; 1 failed; 2 the input was wrong (usage, profile, address); \
            75 failed for now, run it again to go on.
            """,
        version: Version.current,
        subcommands: [
            DemoCommand.self, RunCommand.self, ExecCommand.self, TestCommand.self, ServeCommand.self, CtlCommand.self,
            ReplayCommand.self, ShrinkCommand.self, JournalCommand.self, PlanCommand.self, CheckCommand.self,
            ProfilesCommand.self,
            OriginCommand.self,
            GetCommand.self, PutCommand.self, QueueCommand.self, AuthorityCommand.self, GuardCommand.self,
        ]
    )

    /// Runs the command and exits.
    ///
    /// - Parameter given: The name of the program and its arguments.
    @MainActor static func run(_ given: [String]) async {
        Program.prepare()
        switch CommandTranslation.translate(program: given.first ?? "", Array(given.dropFirst())) {
        case .text(let text): Program.exit(printing: text)
        case .arguments(let arguments):
            // A daemon without work doesn't wake up.
            if arguments.starts(with: ["queue", "serve"]) { TaskThreads.install() }
            await Program.run(Squall.self, arguments, openFiles: OpenFiles.least) { arguments in
                try checkHelp(arguments[...])
                try CommandWords.check(arguments)
            }
        }
    }

    /// Help for an unknown subcommand is an error; the parser would show other help.
    private static func checkHelp(_ arguments: ArraySlice<String>) throws(ValidationError) {
        guard arguments.count > 1, arguments.first == "help" else { return }
        let subject = arguments[arguments.startIndex + 1]
        let known =
            configuration.subcommands.filter { $0.configuration.shouldDisplay }.compactMap {
                $0.configuration.commandName
            }
            + ["help"]
        guard !subject.hasPrefix("-"), !known.contains(subject) else { return }
        let near = Spelling.nearest(to: subject, among: known).first.map { " Did you mean “\($0)”?" }
        throw ValidationError(
            "There is no subcommand “\(subject)”: it is one of \(known.dropLast().joined(separator: ", "))."
                + (near ?? "")
        )
    }
}
