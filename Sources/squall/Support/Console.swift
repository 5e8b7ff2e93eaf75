import EventLoop
import Glibc

/// Where the command talks to a person, or to the program behind a pipe.
enum Console {
    private static let errors = LineWriter(standardError: ())

    /// Whether standard error is a terminal, on which progress can be drawn.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Says what went wrong, on standard error, with the command's name in front.
    static func error(_ message: String) {
        error(lines: "squall: \(message)")
    }

    /// Writes lines to standard error as they are.
    static func error(lines: String) {
        errors.write(lines)
        errors.flush()
    }

    /// Writes a line to standard output at once, so that whoever reads a pipe has it.
    static func print(_ line: String) {
        guard let output = try? LineWriter(path: "-") else { return }
        output.write(line)
        output.flush()
    }
}
