import ArgumentParser
import Glibc
import OperatingSystem
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
            GetCommand.self, PutCommand.self, GuardCommand.self,
        ]
    )

    /// Runs the command and exits. On the main thread, which has to be the only one when a guard starts its command.
    ///
    /// - Parameter given: The name of the program and its arguments.
    @MainActor static func run(_ given: [String]) async {
        ProcessLimits.ignoreBrokenPipes()
        ProcessLimits.occupyStandardDescriptors()
        let arguments: [String]
        switch CommandTranslation.translate(program: given.first ?? "", Array(given.dropFirst())) {
        case .arguments(let translated): arguments = translated
        case .text(let text):
            Console.print(text)
            Glibc.exit(Console.finish() == nil ? 0 : ExitStatus.failed.rawValue)
        }
        do {
            try checkHelp(arguments[...])
            try CommandWords.check(arguments)
            var command = try parseAsRoot(arguments)
            try OpenFiles.check(for: command)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            try finish()
        } catch let failure as CommandFailure {
            Console.error(lines: failure.lines)
            Glibc.exit(failure.code.rawValue)
        } catch {
            let code = exitCode(for: error)
            if code == .success {
                // Help or the version was requested.
                Console.print(lines: fullMessage(for: error))
                do {
                    try finish()
                } catch {
                    Console.error(lines: error.lines)
                    Glibc.exit(error.code.rawValue)
                }
                Glibc.exit(0)
            }
            // A subcommand that throws an exit code has already printed the reason.
            if let code = error as? ExitCode { Glibc.exit(code.rawValue) }
            Console.error(lines: message(for: error, to: arguments[...]))
            Glibc.exit((code == .validationFailure ? ExitStatus.wrongInput : .failed).rawValue)
        }
    }

    /// The parser's message for an error, with quoted arguments kept on one line each.
    private static func message(for error: any Error, to arguments: ArraySlice<String>) -> String {
        let quoted = arguments.flatMap {
            [$0] + ($0.hasPrefix("--") ? $0.split(separator: "=", maxSplits: 1).map(String.init) : [])
        }
        let broken = Set(quoted).filter { $0.contains { $0.isNewline } }.sorted { $0.utf8.count > $1.utf8.count }
        let message = fullMessage(for: error)
        let answered = OptionWords.answer(to: message, for: Array(arguments)) ?? message
        return broken.reduce(answered) { $0.replacing($1, with: $1.visibleLine) }
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
        throw ValidationError(
            "There is no subcommand “\(subject)”: it is one of \(known.dropLast().joined(separator: ", "))."
        )
    }

    /// A failed write to standard output is an error.
    private static func finish() throws(CommandFailure) {
        if let failure = Console.finish() { throw .failed("can't write to standard output: \(failure)") }
    }
}

/// The version printed by `--version`.
enum Version {
    static let current = "0.1.0"
}
