import Glibc
import OperatingSystem
import TerminalDisplay

/// An output file of the command.
package struct OutputFile {
    package let path: String

    /// The file at `path`.
    package init(path: String) { self.path = path }

    /// Atomically replaces the file with `text`; on failure it stays unchanged.
    package func write(_ text: String) throws(CommandFailure) {
        try attempt { () throws(SystemError) in
            let file = try FileReplacement(of: path) { OutputFile.warnWaiting(for: "“\(path)”") }
            file.writer.write(text.hasSuffix("\n") ? String(text.dropLast()) : text)
            try file.commit()
        }
    }

    /// Explains the wait while a FIFO has no reader.
    package static func warnWaiting(for what: String) {
        Console.warn("\(what) is a FIFO that no program reads: waiting for one")
    }

    /// Runs a write and converts its error.
    package func attempt<Result>(_ body: () throws(SystemError) -> Result) throws(CommandFailure) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw CommandFailure(writing: "“\(path)”", error)
        }
    }
}

extension CommandFailure {
    /// A failed write of `what`, a file. Counts as wrong input if another path would help regardless of the machine's
    /// state.
    package init(writing what: String, _ error: SystemError) {
        guard !error.isLocked else {
            self = .failed("another squall writes \(what): wait for its end, or name another file")
            return
        }
        let isInput = error.call == "open" && ![ENOSPC, EDQUOT, EIO, EMFILE, ENFILE].contains(error.code)
        self.init(code: isInput ? .wrongInput : .failed, message: "can't write \(what): \(error)")
    }
}
