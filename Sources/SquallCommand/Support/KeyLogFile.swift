import Glibc
import ProfileFiles
import Synchronization
import SystemPackage
import TerminalDisplay

/// The file of `--key-log`.
enum KeyLogFile {
    /// Opens the file, which only its owner may read, and says so; returns what appends lines. Loops call it, so it takes a
    /// regular file alone: a pipe or a terminal would have them wait for its reader.
    static func writer(_ path: String) throws(CommandFailure) -> @Sendable ([UInt8]) -> Void {
        let problem = "can't write the key log “\(path)”"
        let notRegular = CommandFailure.wrongInput("\(problem): it is no regular file; name one, or a new one")
        let file: FileDescriptor
        let isRegular: Bool
        do {
            file = try FileDescriptor.open(
                FilePath(path),
                .writeOnly,
                options: [.create, .append, .closeOnExec, .noFollow, .nonBlocking],
                permissions: .ownerReadWrite
            )
            isRegular = try file.stat().type == .regular
        } catch Errno.noSuchAddressOrDevice {
            // A FIFO that no program reads.
            throw notRegular
        } catch {
            throw .wrongInput("\(problem): \(FileProblem.reason(error))")
        }
        guard isRegular else {
            try? file.close()
            throw notRegular
        }
        // That of an existing one as well.
        _ = fchmod(file.rawValue, 0o600)
        Console.warn("“\(path)” gets the secrets of TLS: whoever reads it can read the traffic")
        let lines = Mutex<FileDescriptor?>(file)
        return { line in
            lines.withLock { file in
                do {
                    _ = try file?.writeAll(line)
                } catch {
                    Console.warn("the key log “\(path)” can't be written, and ends here: \(FileProblem.reason(error))")
                    file = nil
                }
            }
        }
    }
}
