import FaultProfile
import Units

/// The exit codes of every subcommand.
package enum ExitStatus: Int32 {
    /// Failed permanently.
    case failed = 1
    /// Invalid input: usage, a profile, an address.
    case wrongInput = 2
    /// Failed for now; the same command resumes.
    case resumable = 75
    /// `squall exec`: this system doesn't let Squall supervise a command.
    case cannotSupervise = 125
    /// `squall exec`: the command can't be run.
    case cannotRunCommand = 126
    /// `squall exec`: there is no such command.
    case noSuchCommand = 127
}

/// A failed subcommand: its message and exit code.
package struct CommandFailure: Error, CustomStringConvertible {
    package let code: ExitStatus
    /// The text for standard error: one line that starts with the command's name, or a line per problem of a profile in
    /// the form file:line:column, as editors expect.
    package let lines: String
    package var description: String { lines }
    /// The text without the command's name, for a sentence about a part of what failed.
    package var message: String { String(lines.trimmingPrefix("squall: ")) }
    /// The problems of a profile, for programs. A profile that isn't there is one with line 0.
    package private(set) var problems: [Problem] = []

    /// A failure with a one-line message.
    package init(code: ExitStatus, message: String) {
        self.code = code
        lines = "squall: \(message.visibleLine)"
    }

    private init(code: ExitStatus, lines: String) {
        self.code = code
        self.lines = lines
    }

    /// The failure with its text broken between words into lines of at most `columns`.
    package func wrapped(to columns: Int) -> CommandFailure {
        let wrapped = lines.split(separator: "\n", omittingEmptySubsequences: false)
            .flatMap { TerminalText.wrapped(String($0), to: columns) }
        return CommandFailure(code: code, lines: wrapped.joined(separator: "\n"))
    }

    /// The problems of a profile, one per line.
    package static func problems(_ found: ProfileProblems) -> CommandFailure {
        var failure = CommandFailure(code: .wrongInput, lines: found.description)
        failure.problems = found.problems
        if found.omitted > 0, let file = found.problems.first?.file {
            let what = "\(found.omitted) more problems aren't listed"
            let rest = Problem(file: file, line: 0, column: 0, what: what, remedy: "correct these, and check again")
            failure.problems.append(rest)
        }
        return failure
    }

    /// A profile that can't be had under the reference `reference`.
    package static func unresolved(_ error: ResolutionError, _ reference: String) -> CommandFailure {
        var failure = CommandFailure.wrongInput("\(error.what) (\(error.remedy))")
        failure.problems = [
            Problem(file: reference, line: 0, column: 0, what: error.what, remedy: error.remedy, code: .notFound)
        ]
        return failure
    }

    /// Problems that are not of a profile, one per line.
    package static func problems(_ lines: String) -> CommandFailure { CommandFailure(code: .wrongInput, lines: lines) }
    /// A failure of `squall ctl`, in Toxiproxy's words: without the command's name.
    package static func control(_ lines: String) -> CommandFailure { CommandFailure(code: .failed, lines: lines) }
    package static func wrongInput(_ message: String) -> CommandFailure {
        CommandFailure(code: .wrongInput, message: message)
    }
    package static func failed(_ message: String) -> CommandFailure { CommandFailure(code: .failed, message: message) }
}
