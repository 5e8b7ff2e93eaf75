import Glibc
import ProfileFiles
import Synchronization
import SystemPackage
import TerminalDisplay

/// The file of `--key-log`.
enum KeyLogFile {
    /// Opens the file, which only its owner may read, and says so; returns what appends lines.
    static func writer(_ path: String) throws(CommandFailure) -> @Sendable ([UInt8]) -> Void {
        let file: FileDescriptor
        do {
            file = try FileDescriptor.open(
                FilePath(path),
                .writeOnly,
                options: [.create, .append, .closeOnExec, .noFollow],
                permissions: .ownerReadWrite
            )
            // That of an existing one as well.
            if try file.stat().type == .regular { _ = fchmod(file.rawValue, 0o600) }
        } catch {
            throw .wrongInput("can't write the key log “\(path)”: \(FileProblem.reason(error))")
        }
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
