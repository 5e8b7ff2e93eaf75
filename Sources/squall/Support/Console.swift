import EventLoop
import Glibc

/// Where the command talks to a person, or to the program behind a pipe.
enum Console {
    private static let errors = LineWriter(standardError: ())
    private static let output = LineWriter(standardOutput: ())

    /// How long the end of the command waits for a reader of standard error: 1 s.
    static let patience = Duration.seconds(1)

    /// Whether standard error is a terminal, on which progress can be drawn.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Says what went wrong, on standard error, with the command's name in front.
    static func error(_ message: String) {
        error(lines: "squall: \(message)")
    }

    /// Says on standard error what went wrong and isn't the end, with the command's name in front; from any thread,
    /// without waiting until somebody has read it.
    static func warn(_ message: String) {
        errors.write("squall: \(message)")
    }

    /// Writes lines to standard error as they are.
    static func error(lines: String) {
        errors.write(lines)
        errors.flush()
    }

    /// Writes a line to standard output at once, so that whoever reads a pipe has it.
    static func print(_ line: String) {
        output.write(line)
        output.flush()
    }

    /// Waits until everything has been written. Returns why standard output could not be, unless its reader has gone.
    static func finish() -> SystemError? {
        errors.flush(within: patience)
        guard let failure = output.flush().failure, !failure.isReaderGone else { return nil }
        return failure
    }
}
