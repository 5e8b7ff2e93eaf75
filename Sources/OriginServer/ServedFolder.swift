import FoundationEssentials
import SystemPackage

/// The served folder, held open so that it stays the same folder when it is moved.
final class ServedFolder: Sendable {
    private let descriptor: FileDescriptor

    /// Opens a folder. Blocks.
    init(path: String) throws(OriginError) {
        descriptor = try Self.openFolder(path)
    }

    static func openFolder(_ path: String) throws(OriginError) -> FileDescriptor {
        do {
            return try FileDescriptor.open(FilePath(path), .readOnly, options: [.directory, .closeOnExec])
        } catch {
            throw OriginError(openingFolder: path, error as? Errno ?? .ioError)
        }
    }

    deinit {
        // Opened only for reading, so close can't lose writes.
        try? descriptor.close()
    }

    /// Why a file isn't served.
    enum Refusal: Error, Hashable {
        /// There is no such file, or it is hidden.
        case notFound
        /// The server lacks permission to read it.
        case forbidden
        /// It is a folder, and the path has no trailing slash.
        case isFolder
        /// The server has no descriptors or memory left.
        case exhausted
    }

    /// Opens the regular file at `components`, or its `index.html` if `isFolder`. Blocks, but never on a device or
    /// FIFO.
    ///
    /// Follows symbolic links that lead to a served file in the folder. Safe against concurrent changes: opens an
    /// `O_PATH` handle first, checks its location and type, and then reopens that very file for reading.
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
            return OpenedFile(file, FileMetadata(try Self.status(of: file), fileName: fileName))
        } catch {
            try? file.close()
            throw error
        }
    }

    /// Whether an open file is in the folder, or is the folder, without hidden components in its path.
    private func isBelow(_ handle: FileDescriptor) -> Bool {
        guard let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: path(of: descriptor)),
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: path(of: handle))
        else { return false }
        if file == folder { return true }
        let prefix = folder.utf8.last == UInt8(ascii: "/") ? folder : folder + "/"
        guard file.utf8.starts(with: prefix.utf8) else { return false }
        let names = String(decoding: file.utf8.dropFirst(prefix.utf8.count), as: UTF8.self).split(separator: "/")
        // A replacement character may stand for any byte, so such a name is unknown.
        return !names.contains { RequestTarget.isHidden($0) || $0.unicodeScalars.contains("\u{FFFD}") }
    }

    /// The `/proc` path of an open file: opening it reopens that file, and names below it are resolved from that
    /// folder, even if its own path has changed.
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
    /// `O_PATH`: a handle that can be inspected but not read. Missing from Swift's Glibc module; the value is the same
    /// on every Linux that Swift supports.
    fileprivate static let pathOnly = FileDescriptor.OpenOptions(rawValue: 0o10_000_000)
}
