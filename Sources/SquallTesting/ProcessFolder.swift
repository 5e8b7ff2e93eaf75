internal import Foundation
internal import OperatingSystem

/// The files of a process, in a folder of the temporary ones that others can't read. It is removed with the value.
final class ProcessFolder: Sendable {
    enum File: String {
        case input
        case output
        case errors
        case journal
    }

    private let folder: String

    /// Makes the folder.
    ///
    /// - Throws: A `TestNetworkError`.
    init() throws(TestNetworkError) {
        folder = "\(FileManager.default.temporaryDirectory.path)/squall-\(UUID().uuidString)"
        do {
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: false,
                attributes: mode
            )
        } catch {
            throw TestNetworkError(.files, "can't make the folder “\(folder)”: \(error)")
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ file: File) -> String { "\(folder)/\(file.rawValue)" }

    /// The files of a child process that reads `input`.
    ///
    /// - Throws: A `TestNetworkError`.
    func streams(reading input: String) throws(TestNetworkError) -> ChildProcess.Files {
        do {
            try Data(input.utf8).write(to: URL(fileURLWithPath: path(.input)))
        } catch {
            throw TestNetworkError(.files, "can't write “\(path(.input))”: \(error)")
        }
        return ChildProcess.Files(input: path(.input), output: path(.output), errors: path(.errors))
    }

    func has(_ file: File) -> Bool { FileManager.default.fileExists(atPath: path(file)) }

    /// The first 16 MiB of a file, as UTF-8; empty if there is none.
    func text(_ file: File) -> String {
        guard let handle = FileHandle(forReadingAtPath: path(file)) else { return "" }
        let bytes = try? handle.read(upToCount: TestProcess.outputLimit)
        return String(decoding: bytes ?? Data(), as: UTF8.self)
    }
}
