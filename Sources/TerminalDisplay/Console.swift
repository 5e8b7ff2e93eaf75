import Glibc
import OperatingSystem
import Synchronization
import Units

/// Writes to standard output and standard error; all text except `LiveLine` goes through here.
///
/// Arguments, file names and server responses may contain terminal control sequences. They are escaped, as in `\u{1b}`.
package enum Console {
    private static let errors = LineWriter(standardError: ())
    private static let output = LineWriter(standardOutput: ())
    /// The live line that other text is printed above.
    private static let live = Mutex<LiveLine?>(nil)

    /// Prints text of standard error above `live` from now on, and that of standard output too if it is the same terminal.
    package static func share(with live: LiveLine?) {
        self.live.withLock { $0 = live.flatMap { $0.isOn ? $0 : nil } }
    }

    /// The live line, if the text of an output goes above it.
    private static func display(isOutput: Bool) -> LiveLine? {
        guard let live = live.withLock({ $0 }), !isOutput || Terminal.isShared else { return nil }
        return live
    }

    /// Prints `lines` above the live line, if one has the terminal, broken between words there.
    private static func printAbove(wrapping lines: String, isOutput: Bool = false) -> Bool {
        guard let live = display(isOutput: isOutput) else { return false }
        for line in lines.split(separator: "\n", omittingEmptySubsequences: false) {
            live.print(wrapping: String(line))
        }
        return true
    }

    /// Lines on standard error, written without waiting.
    package struct Log: Sendable {
        private let writer = LineWriter(standardError: ())

        /// A log of its own queue.
        package init() {}

        /// Writes a line, which is cut above a live line if it is wider than the terminal; thread-safe.
        package func write(_ line: String) {
            guard let live = display(isOutput: false) else { return writer.write(line.visibleLine) }
            live.print(cutting: line)
        }

        /// Waits until everything is written, at most `patience`.
        package func finish() { writer.flush(within: patience) }
    }

    /// How long the command waits at exit for a reader of standard error: 1 s.
    package static let patience = Duration.seconds(1)

    /// Whether standard error is a terminal.
    package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether standard output is a terminal.
    package static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Prints an error on standard error, prefixed with the command's name.
    package static func error(_ message: String) {
        error(lines: "squall: \(message.visibleLine)")
    }

    /// Prints a warning on standard error, prefixed with the command's name, without waiting; thread-safe.
    package static func warn(_ message: String) { warn(lines: "squall: \(message.visibleLine)") }

    /// Says how many open connections faults of HTTP messages don't reach yet, and how many they don't reach at all.
    package static func warnUnreached(joining: Int, unread: Int) {
        func connections(_ count: Int) -> String { "\(count) open connection\(count == 1 ? "" : "s")" }
        if joining > 0 { warn("faults of HTTP act on \(connections(joining)) from the next request on") }
        if unread > 0 { warn("faults of HTTP don't act on \(connections(unread)), not read as HTTP/1") }
    }

    /// Writes lines to standard error without waiting.
    package static func warn(lines: String) {
        if !printAbove(wrapping: lines.visibleLines) { errors.write(lines.visibleLines) }
    }

    /// Writes a line to standard output without waiting.
    package static func note(_ line: String) {
        if !printAbove(wrapping: line.visibleLine, isOutput: true) { output.write(line.visibleLine) }
    }

    /// Writes lines to standard error.
    package static func error(lines: String) {
        if printAbove(wrapping: lines.visibleLines) { return }
        errors.write(lines.visibleLines)
        errors.flush()
    }

    /// Writes a line of `fields` to standard output, or to standard error, and flushes it. Above a live line it may be
    /// broken, but only between fields.
    package static func print(fields: [String], onErrors: Bool = false) {
        if let live = display(isOutput: !onErrors) { return live.print(fields: fields) }
        let writer = onErrors ? errors : output
        writer.write(fields.joined(separator: " ").visibleLine)
        writer.flush()
    }

    /// Writes a line to standard output and flushes it, for readers of a pipe.
    package static func print(_ line: String) { print(lines: line.visibleLine) }

    /// Writes lines to standard output and flushes them.
    package static func print(lines: String) { write(lines.visibleLines) }

    /// Writes a program's output to standard output as it is: it may draw on the terminal by itself.
    package static func pass(_ bytes: [UInt8]) { output.write(bytes: bytes) }

    /// Writes a file's text to standard output, unescaped unless that is a terminal.
    package static func print(file text: String) { write(isOutputTerminal ? text.visibleLines : text) }

    private static func write(_ text: String) {
        if let live = display(isOutput: true) {
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) { live.print(String(line)) }
            return
        }
        output.write(text)
        output.flush()
    }

    /// Waits until everything is written. Returns the error of standard output, unless its reader has closed it.
    package static func finish() -> SystemError? {
        errors.flush(within: patience)
        guard let failure = output.flush().failure, !failure.isReaderGone else { return nil }
        return failure
    }
}
