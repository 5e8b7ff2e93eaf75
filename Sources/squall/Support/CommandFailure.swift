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
    /// One line, or a line for each problem.
    let message: String

    static func wrongInput(_ message: String) -> CommandFailure { CommandFailure(code: .wrongInput, message: message) }
    static func failed(_ message: String) -> CommandFailure { CommandFailure(code: .failed, message: message) }
}
