import Units

/// The exit codes of every subcommand.
enum ExitStatus: Int32 {
    /// It failed, and would again.
    case failed = 1
    /// The input was wrong: usage, a profile, an address.
    case wrongInput = 2
    /// It failed for now; the same command goes on where this one stopped.
    case resumable = 75
}

/// Why a subcommand ends without success: what it tells the person, and its exit code.
struct CommandFailure: Error {
    let code: ExitStatus
    /// What standard error is told: one line that begins with the command's name; or a line for each problem of a
    /// profile, which begins with file, line and column, as editors and build tools expect it.
    let lines: String

    /// A failure told in one line.
    init(code: ExitStatus, message: String) {
        self.code = code
        lines = "squall: \(message.visibleLine)"
    }

    private init(problems: String) {
        code = .wrongInput
        lines = problems
    }

    /// The problems of a profile, a line each.
    static func problems(_ lines: String) -> CommandFailure { CommandFailure(problems: lines) }
    static func wrongInput(_ message: String) -> CommandFailure { CommandFailure(code: .wrongInput, message: message) }
    static func failed(_ message: String) -> CommandFailure { CommandFailure(code: .failed, message: message) }
}
