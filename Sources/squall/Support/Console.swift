import EventLoop
import Glibc
import Units

/// Writes to standard output and standard error: every text but that of `LiveLine` goes through here.
///
/// Arguments, names of files and the answers of servers may have bytes that move a terminal's cursor, set its title or
/// turn the direction of a text. Here they become visible, as `\u{1b}`.
enum Console {
    private static let errors = LineWriter(standardError: ())
    private static let output = LineWriter(standardOutput: ())

    /// Lines on standard error that nobody waits for.
    struct Log: Sendable {
        private let writer = LineWriter(standardError: ())

        /// Writes a line; from any thread.
        func write(_ line: String) { writer.write(line.visibleLine) }

        /// Waits until everything has been written, but no longer than `patience`.
        func finish() { writer.flush(within: patience) }
    }

    /// How long the end of the command waits for a reader of standard error: 1 s.
    static let patience = Duration.seconds(1)

    /// Whether standard error is a terminal, on which progress can be drawn.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Says what went wrong, on standard error, with the command's name in front.
    static func error(_ message: String) {
        error(lines: "squall: \(message.visibleLine)")
    }

    /// Says on standard error what went wrong and isn't the end, with the command's name in front; from any thread,
    /// without waiting until somebody has read it.
    static func warn(_ message: String) {
        errors.write("squall: \(message.visibleLine)")
    }

    /// Writes lines to standard error, without waiting until somebody has read them.
    static func warn(lines: String) { errors.write(lines.visibleLines) }

    /// Writes a line to standard output, without waiting until somebody has read it.
    static func note(_ line: String) { output.write(line.visibleLine) }

    /// Writes lines to standard error.
    static func error(lines: String) {
        errors.write(lines.visibleLines)
        errors.flush()
    }

    /// Writes a line to standard output at once, so that whoever reads a pipe has it.
    static func print(_ line: String) { print(lines: line.visibleLine) }

    /// Writes lines to standard output at once.
    static func print(lines: String) { write(lines.visibleLines) }

    /// Writes the text of a file to standard output: as it is, unless that is a terminal.
    static func print(file text: String) { write(isatty(STDOUT_FILENO) == 1 ? text.visibleLines : text) }

    private static func write(_ text: String) {
        output.write(text)
        output.flush()
    }

    /// Waits until everything has been written. Returns why standard output could not be, unless its reader has gone.
    static func finish() -> SystemError? {
        errors.flush(within: patience)
        guard let failure = output.flush().failure, !failure.isReaderGone else { return nil }
        return failure
    }
}
