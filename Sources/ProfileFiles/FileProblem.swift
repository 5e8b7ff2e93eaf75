import FoundationEssentials
import OperatingSystem
import SystemPackage
import TerminalDisplay

/// File errors in the system's words.
package enum FileProblem {
    /// "No space left on device (errno 28)" for a system error wrapped by Foundation, else Foundation's description.
    package static func reason(_ error: any Error) -> String {
        guard let number = errno(of: error) else { return "\(error)" }
        return "\(number) (errno \(number.rawValue))"
    }

    /// Whether two paths refer to the same existing file.
    package static func isSameFile(_ path: String, _ other: String) -> Bool {
        guard let first = try? FilePath(path).stat(), let second = try? FilePath(other).stat() else { return false }
        return first.deviceID == second.deviceID && first.inode == second.inode
    }

    /// The output of this process that is the regular file at `path`, in words; `nil` if neither is.
    static func standardOutput(at path: String) -> String? {
        guard path != "-", let file = try? FilePath(path).stat(), file.type == .regular else { return nil }
        let outputs: KeyValuePairs<String, FileDescriptor> = [
            "standard output": .standardOutput, "standard error": .standardError,
        ]
        return outputs.first { _, descriptor in
            guard let output = try? descriptor.stat() else { return false }
            return output.deviceID == file.deviceID && output.inode == file.inode
        }?.key
    }

    /// The error number of an error of the system, or of Foundation's.
    static func errno(of error: any Error) -> Errno? {
        switch error {
        case let number as Errno: return number
        case let error as SystemError: return Errno(rawValue: error.code)
        case let error as POSIXError: return Errno(rawValue: error.code.rawValue)
        case let error as CocoaError: return error.underlying.flatMap { errno(of: $0) } ?? errno(of: error.code)
        default: return nil
        }
    }

    /// Whether two paths name one place, at which there may be no file.
    package static func isSamePlace(_ path: String, _ other: String) -> Bool {
        let places = [path, other].map { URL(fileURLWithPath: $0).standardizedFileURL.resolvingSymlinksInPath().path }
        return places[0] == places[1] || isSameFile(path, other)
    }

    /// Whether an output at `path` is a file that has it alone: no pipe, terminal or standard output.
    package static func isReplaced(_ path: String) -> Bool {
        path != "-" && [nil, .regular].contains(try? FilePath(path).stat().type)
    }

    /// The error number for a Foundation code without an underlying system error.
    private static func errno(of code: CocoaError.Code) -> Errno? {
        switch code {
        case .fileNoSuchFile, .fileReadNoSuchFile: return .noSuchFileOrDirectory
        case .fileReadNoPermission, .fileWriteNoPermission: return .permissionDenied
        case .fileWriteOutOfSpace: return .noSpace
        case .fileWriteVolumeReadOnly: return .readOnlyFileSystem
        case .fileWriteFileExists: return .fileExists
        default: return nil
        }
    }
}

extension CommandFailure {
    /// What `body` returns. Its error becomes a failure with the message `what`, such as “can't start”, and the error.
    package static func attempting<Value>(
        _ what: String,
        code: ExitStatus = .failed,
        _ body: () throws -> Value
    ) throws(CommandFailure) -> Value {
        do {
            return try body()
        } catch {
            let reason = error is CocoaError ? FileProblem.reason(error) : "\(error)"
            throw CommandFailure(code: code, message: "\(what): \(reason)")
        }
    }
}

extension TemporaryFolder {
    /// A new folder in that of temporary files.
    package static func made(_ name: String) throws(CommandFailure) -> TemporaryFolder {
        try CommandFailure.attempting("can't make a folder in \(UserFolders.temporary) (TMPDIR)") {
            try TemporaryFolder(name: name)
        }
    }
}
