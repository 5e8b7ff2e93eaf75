import EventLoop
import Glibc

/// A file that the command writes.
struct OutputFile {
    let path: String

    /// Has `text` take the place of what is there, which stays as it is if that fails.
    func write(_ text: String) throws(CommandFailure) {
        try attempt { () throws(SystemError) in
            let file = try FileReplacement(of: path) { OutputFile.tellWaiting(for: "“\(path)”") }
            file.writer.write(text.hasSuffix("\n") ? String(text.dropLast()) : text)
            try file.commit()
        }
    }

    /// Says why nothing happens while a FIFO has no reader.
    static func tellWaiting(for what: String) {
        Console.warn("\(what) is a FIFO that no program reads: waiting for one")
    }

    /// Does what may fail to write it, and tells why if it does.
    func attempt<Result>(_ body: () throws(SystemError) -> Result) throws(CommandFailure) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw CommandFailure(writing: "“\(path)”", error)
        }
    }
}

extension CommandFailure {
    /// Why `what`, a file, can't be written. Wrong is what another path would mend, whatever the state of the machine.
    init(writing what: String, _ error: SystemError) {
        guard !error.isLocked else {
            self = .failed("another squall writes \(what): wait for its end, or name another file")
            return
        }
        let isInput = error.call == "open" && ![ENOSPC, EDQUOT, EIO, EMFILE, ENFILE].contains(error.code)
        self.init(code: isInput ? .wrongInput : .failed, message: "can't write \(what): \(error)")
    }
}
