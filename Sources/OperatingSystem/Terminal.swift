import CProcess
import Glibc

/// Properties and input of the terminal.
public enum Terminal {
    /// The columns of standard error's terminal; `nil` if it is no terminal or the width is unknown.
    public static func columnsOfStandardError() -> Int? { columns(of: STDERR_FILENO) }

    /// The columns of standard output's terminal; `nil` if it is no terminal or the width is unknown.
    public static func columnsOfStandardOutput() -> Int? { columns(of: STDOUT_FILENO) }

    private static func columns(of descriptor: Int32) -> Int? {
        let columns = Int(squall_terminal_columns(descriptor))
        return columns > 0 ? columns : nil
    }

    /// The rows of standard error's terminal; `nil` if it is no terminal or the height is unknown.
    public static func rowsOfStandardError() -> Int? {
        let rows = Int(squall_terminal_rows(STDERR_FILENO))
        return rows > 0 ? rows : nil
    }

    /// Whether the process may draw on standard error's terminal: false for a job in the background of its shell. True if
    /// the terminal isn't the controlling one of the process.
    public static var isInForeground: Bool {
        let group = tcgetpgrp(STDERR_FILENO)
        return group < 0 || group == getpgrp()
    }

    /// Whether standard output and standard error are the same terminal.
    public static var isShared: Bool {
        var output = stat()
        var errors = stat()
        return isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1 && fstat(STDOUT_FILENO, &output) == 0
            && fstat(STDERR_FILENO, &errors) == 0 && output.st_rdev == errors.st_rdev
    }

    /// The longest line of `secret(prompt:)`, in bytes.
    private static let longestSecret = 4_096

    /// Reads a line without echo from the controlling terminal, wherever the outputs go.
    ///
    /// - Returns: the line without its end; `nil` after Ctrl-C or Ctrl-D.
    /// - Throws: `SystemError` of the failed call, such as open(2) without a terminal.
    public static func secret(prompt: String) throws(SystemError) -> String? {
        let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last("open") }
        defer { close(descriptor) }
        var before = termios()
        guard tcgetattr(descriptor, &before) == 0 else { throw .last("tcgetattr") }
        var silent = before
        // Keyboard signals are off, so that Ctrl-C can't leave the terminal without echo.
        silent.c_lflag &= ~tcflag_t(ECHO | ISIG)
        let interrupt = withUnsafePointer(to: before.c_cc) {
            $0.withMemoryRebound(to: cc_t.self, capacity: Int(NCCS)) { $0[Int(VINTR)] }
        }
        withUnsafeMutablePointer(to: &silent.c_cc) {
            $0.withMemoryRebound(to: cc_t.self, capacity: Int(NCCS)) { $0[Int(VEOL)] = interrupt }
        }
        // Discards input typed before the prompt.
        guard tcsetattr(descriptor, TCSAFLUSH, &silent) == 0 else { throw .last("tcsetattr") }
        defer {
            tcsetattr(descriptor, TCSAFLUSH, &before)
            write("\n", to: descriptor)
        }
        write(prompt, to: descriptor)
        return try line(from: descriptor, interrupt: interrupt)
    }

    private static func line(from descriptor: Int32, interrupt: cc_t) throws(SystemError) -> String? {
        var bytes: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last("read") }
            if count == 0 || byte == interrupt { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            if bytes.count < longestSecret { bytes.append(byte) }
        }
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}
