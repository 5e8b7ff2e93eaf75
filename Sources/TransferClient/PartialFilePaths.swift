import SystemPackage

/// The paths of a download's files.
struct PartialFilePaths: Sendable {
    /// The destination.
    let destination: FilePath
    /// The folder of all files.
    let folder: FilePath
    /// The received bytes: `.NAME.squall-part`.
    let data: FilePath
    /// The journal: `.NAME.squall-journal`.
    let journal: FilePath
    /// A complete file whose digest was wrong: `.NAME.squall-mismatch`.
    let mismatch: FilePath

    /// Resolves links at `destination`. Throws when a file there must not be replaced.
    static func following(_ destination: FilePath, _ worker: FileWorker) async throws(TransferError) -> PartialFilePaths
    {
        try await worker.run { try checkReplaceable(destination, followingLinks: true) }
        return try PartialFilePaths(destination: await worker.target(of: destination))
    }

    /// The maximum length of a destination's name in bytes: the journal's temporary file adds 20, and file systems take 255.
    private static let maximumNameLength = 235

    /// Throws when the destination, not a link, can't name a file.
    init(destination: FilePath) throws(TransferError) {
        guard let name = destination.lastComponent, name.kind == .regular else {
            throw .invalidFile(destination.string, "it names no file")
        }
        let length = name.string.utf8.count
        guard length <= Self.maximumNameLength else {
            throw .invalidFile(
                destination.string,
                "its name has \(length) bytes, and \(Self.maximumNameLength) leave room for the partial file's; choose a shorter one"
            )
        }
        self.destination = destination
        let parent = destination.removingLastComponent()
        folder = parent.isEmpty ? "." : parent
        data = folder.appending(".\(name.string).squall-part")
        journal = folder.appending(".\(name.string).squall-journal")
        mismatch = folder.appending(".\(name.string).squall-mismatch")
    }

    /// Throws when something at `destination`, or where a link there leads, must not be replaced.
    static func checkReplaceable(_ destination: FilePath, followingLinks: Bool) throws(TransferError) {
        let type: FileType
        do throws(Errno) {
            type = try destination.stat(followTargetSymlink: followingLinks).type
        } catch .noSuchFileOrDirectory {
            return
        } catch {
            throw .fileSystem(call: "stat", path: destination.string, error)
        }
        switch type {
        case .regular: return
        case .directory:
            throw .invalidFile(destination.string, "it is a directory; add the name of the file")
        default:
            throw .invalidFile(
                destination.string,
                "it is \(name(for: type)), and only a regular file is replaced; choose another path"
            )
        }
    }

    private static func name(for type: FileType) -> String {
        switch type {
        case .fifo: "a FIFO"
        case .socket: "a socket"
        case .characterSpecial, .blockSpecial: "a device"
        case .symbolicLink: "a symbolic link"
        default: "no regular file"
        }
    }
}
