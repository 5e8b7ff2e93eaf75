import Units

/// The exit codes of every subcommand.
enum ExitStatus: Int32 {
    /// Failed permanently.
    case failed = 1
    /// Invalid input: usage, a profile, an address.
    case wrongInput = 2
    /// Failed for now; the same command resumes.
    case resumable = 75
}

/// A failed subcommand: its message and exit code.
struct CommandFailure: Error {
    let code: ExitStatus
    /// The text for standard error: one line that starts with the command's name, or a line per problem of a profile in
    /// the form file:line:column, as editors expect.
    let lines: String

    /// A failure with a one-line message.
    init(code: ExitStatus, message: String) {
        self.code = code
        lines = "squall: \(message.visibleLine)"
    }

    private init(code: ExitStatus, lines: String) {
        self.code = code
        self.lines = lines
    }

    /// The failure with its text broken between words into lines of at most `columns`.
    func wrapped(to columns: Int) -> CommandFailure {
        let wrapped = lines.split(separator: "\n", omittingEmptySubsequences: false)
            .flatMap { TerminalText.wrapped(String($0), to: columns) }
        return CommandFailure(code: code, lines: wrapped.joined(separator: "\n"))
    }

    /// The problems of a profile, one per line.
    static func problems(_ lines: String) -> CommandFailure { CommandFailure(code: .wrongInput, lines: lines) }
    /// A failure of `squall ctl`, in Toxiproxy's words: without the command's name.
    static func control(_ lines: String) -> CommandFailure { CommandFailure(code: .failed, lines: lines) }
    static func wrongInput(_ message: String) -> CommandFailure { CommandFailure(code: .wrongInput, message: message) }
    static func failed(_ message: String) -> CommandFailure { CommandFailure(code: .failed, message: message) }
}
