import ArgumentParser
import Glibc
import OperatingSystem
import TerminalDisplay
import Units

/// Runs the commands of a program, with their common exit codes.
package enum Program {
    /// Readies the process, before anything is opened or written.
    package static func prepare() {
        InheritedSignals.note()
        DetachedProgram.noteDescriptors()
        ProgramStart.nameProcess()
        ProcessLimits.endAtQuit()
        ProcessLimits.ignoreBrokenPipes()
        ProcessLimits.occupyStandardDescriptors()
        ProcessLimits.growDescriptorTable()
    }

    /// Runs a command of `root`. Exits if it fails or has only printed a text, such as its help. On the main thread, which
    /// has to be the only one when a guard starts its command.
    ///
    /// - Parameters:
    ///   - root: The command with the subcommands.
    ///   - arguments: The arguments, without the name of the program.
    ///   - openFiles: The open files (ulimit -n) that a command needs.
    ///   - check: Throws an error about the arguments that is better than the parser's.
    @MainActor package static func run(
        _ root: any AsyncParsableCommand.Type,
        _ arguments: [String],
        openFiles: (any ParsableCommand) -> Int,
        check: ([String]) throws -> Void = { _ in }
    ) async {
        do {
            try check(arguments)
            var command = try root.parseAsRoot(arguments)
            try checkOpenFiles(openFiles(command))
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            try finish()
        } catch let failure as CommandFailure {
            exit(with: failure)
        } catch {
            let code = root.exitCode(for: error)
            if code == .success {
                // Help or the version was requested.
                exit(printing: root.fullMessage(for: error))
            }
            // A subcommand that throws an exit code has already printed the reason.
            if let code = error as? ExitCode {
                if let failure = outputFailure() { Console.error(lines: failure.lines) }
                Glibc.exit(code.rawValue)
            }
            Console.error(lines: message(of: root.fullMessage(for: error), to: arguments, of: root))
            Glibc.exit((code == .validationFailure ? ExitStatus.wrongInput : .failed).rawValue)
        }
    }

    /// Prints lines in place of a command, and exits.
    package static func exit(printing lines: String) -> Never {
        Console.print(lines: lines)
        do {
            try finish()
        } catch {
            exit(with: error)
        }
        Glibc.exit(0)
    }

    private static func exit(with failure: CommandFailure) -> Never {
        Console.error(lines: failure.lines)
        Glibc.exit(failure.code.rawValue)
    }

    /// Checks the limit of open files before a command opens anything: beneath it, libraries end the process.
    private static func checkOpenFiles(_ least: Int) throws(CommandFailure) {
        let limit = ProcessLimits.highestOpenFiles
        guard limit < least else { return }
        throw .failed(
            "the limit of open files is \(limit), and this command needs \(least) or more: raise it, as with "
                + "“ulimit -n 1024”"
        )
    }

    /// The parser's message for an error, with quoted arguments kept on one line each.
    private static func message(
        of message: String,
        to arguments: [String],
        of root: any ParsableCommand.Type
    ) -> String {
        let quoted = arguments.flatMap {
            [$0] + ($0.hasPrefix("--") ? $0.split(separator: "=", maxSplits: 1).map(String.init) : [])
        }
        let broken = Set(quoted).filter { $0.contains { $0.isNewline } }.sorted { $0.utf8.count > $1.utf8.count }
        let answered = OptionWords.answer(to: message, for: arguments, of: root) ?? message
        return broken.reduce(answered) { $0.replacing($1, with: $1.visibleLine) }
    }

    /// A failed write to standard output is an error.
    private static func finish() throws(CommandFailure) {
        if let failure = outputFailure() { throw failure }
    }

    /// Waits until everything is written; tells why standard output can't be.
    private static func outputFailure() -> CommandFailure? {
        Console.finish().map { .failed("can't write to standard output: \($0)") }
    }
}
