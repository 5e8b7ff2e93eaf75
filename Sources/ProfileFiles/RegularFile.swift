import OperatingSystem
import SystemPackage
import TerminalDisplay

/// Reads input files without blocking.
///
/// A FIFO may block and a device may never end, so only regular files are read. Symbolic links are followed.
package enum RegularFile {
    /// The bytes of the file at `path`, at most `limit`.
    package static func bytes(of path: String, limit: Int) throws(RegularFileProblem) -> [UInt8] {
        let descriptor = try open(path)
        defer { try? descriptor.close() }
        do throws(SystemError) {
            return try DescriptorReading.bytes(of: descriptor.rawValue, limit: limit)
        } catch {
            throw .system(error)
        }
    }

    /// The same for a command, whose failure names the file as `name` does.
    package static func bytes(of path: String, limit: Int, named name: String) throws(CommandFailure) -> [UInt8] {
        do throws(RegularFileProblem) {
            return try bytes(of: path, limit: limit)
        } catch {
            throw .wrongInput("can't read \(name): \(error.reason) (\(error.remedy))")
        }
    }

    /// Opens the file at `path` for reading, which the caller closes.
    static func open(_ path: String) throws(RegularFileProblem) -> FileDescriptor {
        let path = FilePath(path)
        // Opening a device may have side effects.
        try check(path) { try path.stat() }
        let descriptor: FileDescriptor
        do {
            // Non-blocking, in case the file was replaced since the check.
            descriptor = try .open(path, .readOnly, options: [.closeOnExec, .nonBlocking])
        } catch {
            throw .system(error)
        }
        do throws(RegularFileProblem) {
            try check(path) { try descriptor.stat() }
        } catch {
            try? descriptor.close()
            throw error
        }
        return descriptor
    }

    private static func check(_ path: FilePath, _ facts: () throws -> Stat) throws(RegularFileProblem) {
        let type: FileType
        do {
            type = try facts().type
        } catch {
            throw .system(error)
        }
        guard type == .regular else { throw .notRegular(type) }
    }
}

/// Why a file can't be read.
package enum RegularFileProblem: Error {
    /// A system call failed with this error.
    case system(any Error)
    /// Not a regular file.
    case notRegular(FileType)

    /// The problem as a clause.
    package var reason: String {
        switch self {
        case .system(let error): FileProblem.reason(error)
        case .notRegular(.directory): "it is a directory"
        case .notRegular(.fifo): "it is a FIFO, and only a regular file is read"
        case .notRegular(.socket): "it is a socket, and only a regular file is read"
        case .notRegular(.characterSpecial), .notRegular(.blockSpecial):
            "it is a device, and only a regular file is read"
        case .notRegular: "it is no regular file"
        }
    }

    /// The remedy as an instruction.
    package var remedy: String {
        switch self {
        case .system(let error) where FileProblem.errno(of: error) == .permissionDenied:
            "check the permissions of it and of its folders"
        case .system: "check the path"
        case .notRegular(.directory): "name a file in it"
        case .notRegular(.fifo): "write what it gives to a file, and name that"
        case .notRegular: "name a regular file"
        }
    }
}
