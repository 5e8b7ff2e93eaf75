import CLibevent
import Glibc

/// What the command has to know of a terminal before it draws on it, and what it asks of one.
public enum Terminal {
    /// The columns of the terminal that standard error is; `nil` when it is none, or can't tell.
    public static func columnsOfStandardError() -> Int? {
        let columns = Int(squall_terminal_columns(STDERR_FILENO))
        return columns > 0 ? columns : nil
    }

    /// The bytes of a line that `secret(prompt:)` takes.
    private static let longestSecret = 4_096

    /// Asks on the terminal of the process, wherever its outputs go, for a line that isn't shown while it is typed.
    ///
    /// - Returns: the line without its end; `nil` when the person ended it with Ctrl-C or Ctrl-D, or without a line end.
    /// - Throws: `SystemError` of open(2) when the process has no terminal, or of the call that failed.
    public static func secret(prompt: String) throws(SystemError) -> String? {
        let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last("open") }
        defer { close(descriptor) }
        var before = termios()
        guard tcgetattr(descriptor, &before) == 0 else { throw .last("tcgetattr") }
        var silent = before
        // Without signals from the keyboard nobody is left with a terminal that shows nothing: Ctrl-C ends the line.
        silent.c_lflag &= ~tcflag_t(ECHO | ISIG)
        let interrupt = withUnsafePointer(to: before.c_cc) {
            $0.withMemoryRebound(to: cc_t.self, capacity: Int(NCCS)) { $0[Int(VINTR)] }
        }
        withUnsafeMutablePointer(to: &silent.c_cc) {
            $0.withMemoryRebound(to: cc_t.self, capacity: Int(NCCS)) { $0[Int(VEOL)] = interrupt }
        }
        // What was typed before the question is no answer to it.
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
