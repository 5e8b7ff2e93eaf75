import FoundationEssentials
import SystemPackage

/// The folder below which files are served, held open, so that it stays the same folder wherever it is moved.
final class ServedFolder: Sendable {
    private let descriptor: FileDescriptor

    /// Opens a folder. Blocks.
    init(path: String) throws(OriginError) {
        do {
            descriptor = try FileDescriptor.open(FilePath(path), .readOnly, options: [.directory, .closeOnExec])
        } catch {
            let errno = error as? Errno ?? .ioError
            let code: OriginError.Code =
                switch errno {
                case .noSuchFileOrDirectory: .folderMissing
                case .notDirectory: .notAFolder
                default: .folderUnreadable
                }
            throw OriginError(code: code, subject: path, cause: .init(call: "open", errno: errno))
        }
    }

    deinit {
        // Nothing was written through it, so there is nothing that a failure could have lost.
        try? descriptor.close()
    }

    /// Why a file isn't served.
    enum Refusal: Error, Hashable {
        /// There is no such file, or it isn't to be seen.
        case notFound
        /// It is there, but the server may not read it.
        case forbidden
        /// It is a folder, and was asked for without a slash at its end.
        case isFolder
        /// The server has no descriptor or memory left for it.
        case exhausted
    }

    /// Opens the regular file at `components`, or its `index.html` when `isFolder`. Blocks, but never on a device or a
    /// FIFO.
    ///
    /// Symbolic links are followed as long as they lead to a file in the folder that isn't kept back. The order makes
    /// it safe from a folder that changes meanwhile: a handle that can't be read from is opened first, it is
    /// asked where it lies and what it is, and only then the very same file is opened for reading.
    func open(components: [String], isFolder: Bool) throws(Refusal) -> OpenedFile {
        let names = isFolder ? components + ["index.html"] : components
        guard let fileName = names.last else { throw .notFound }
        let handle = try Self.open(
            path(of: descriptor) + "/" + names.joined(separator: "/"),
            [.pathOnly, .closeOnExec]
        )
        defer { try? handle.close() }
        guard isBelow(handle) else { throw .notFound }
        switch try Self.status(of: handle).type {
        case .regular: break
        case .directory where !isFolder: throw .isFolder
        default: throw .notFound
        }
        let file = try Self.open(path(of: handle), [.closeOnExec])
        do throws(Refusal) {
            return OpenedFile(file, FileFacts(try Self.status(of: file), fileName: fileName))
        } catch {
            try? file.close()
            throw error
        }
    }

    /// Whether an open file lies below the folder, or is the folder, and no name on the way to it is kept back.
    private func isBelow(_ handle: FileDescriptor) -> Bool {
        guard let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: path(of: descriptor)),
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: path(of: handle))
        else { return false }
        if file == folder { return true }
        let prefix = folder.utf8.last == UInt8(ascii: "/") ? folder : folder + "/"
        guard file.utf8.starts(with: prefix.utf8) else { return false }
        let names = String(decoding: file.utf8.dropFirst(prefix.utf8.count), as: UTF8.self).split(separator: "/")
        // A replacement character may stand for any byte, so nothing is known of a name with one.
        return !names.contains { RequestTarget.isKeptBack($0) || $0.unicodeScalars.contains("\u{FFFD}") }
    }

    /// The path that stands for an open file itself: to open it is to open that file again, and names below it are
    /// looked up from that folder, whatever became of its own path.
    private func path(of handle: FileDescriptor) -> String { "/proc/self/fd/\(handle.rawValue)" }

    private static func open(
        _ path: String,
        _ options: FileDescriptor.OpenOptions
    ) throws(Refusal) -> FileDescriptor {
        do {
            return try FileDescriptor.open(FilePath(path), .readOnly, options: options)
        } catch {
            throw refusal(for: error as? Errno ?? .ioError)
        }
    }

    private static func status(of handle: FileDescriptor) throws(Refusal) -> Stat {
        do {
            return try handle.stat()
        } catch {
            throw refusal(for: error)
        }
    }

    private static func refusal(for errno: Errno) -> Refusal {
        switch errno {
        case .permissionDenied, .notPermitted: .forbidden
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory: .exhausted
        default: .notFound
        }
    }
}

extension FileDescriptor.OpenOptions {
    /// `O_PATH`: a handle on a file that can be asked about, but neither read nor woken up. Swift's Glibc module
    /// doesn't have the constant; it has this value on every Linux that Swift runs on.
    fileprivate static let pathOnly = FileDescriptor.OpenOptions(rawValue: 0o10_000_000)
}
