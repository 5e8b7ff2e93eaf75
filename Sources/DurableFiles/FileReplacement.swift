import SystemPackage

/// Replaces a file atomically.
public enum AtomicReplacement {
    /// The suffix of the temporary file's name.
    public static let suffix = ".new"

    /// Writes `bytes` to a temporary file next to `path`, syncs it, renames it to `path` and syncs the folder. Removes
    /// a temporary file left by an earlier crash.
    ///
    /// When it throws before the rename, it removes the temporary file, as far as that succeeds. When it throws after it, a crash may leave the old or the new file at `path`.
    ///
    /// - Parameters:
    ///   - isPrivate: Whether only the owner may open the new file.
    ///   - keepsPermissions: Whether the new file gets the permissions of the old one, which must be there.
    ///   - isLocked: Whether the new file is locked before it gets its name.
    ///   - place: The temporary file; by default `path` with `suffix`.
    /// - Returns: the new file, open for reading and writing.
    public static func replace(
        _ path: FilePath,
        with bytes: [UInt8],
        isPrivate: Bool = false,
        keepsPermissions: Bool = false,
        isLocked: Bool = false,
        beside place: FilePath? = nil,
        in files: any FileSystem
    ) throws(FileError) -> any OpenFile {
        let beside = place ?? FilePath(path.string + suffix)
        if try files.kind(of: beside) != nil { try files.remove(beside) }
        let file = try files.open(beside, isPrivate ? .creatingPrivately : .creating)
        do throws(FileError) {
            if keepsPermissions { try file.copyPermissions(of: path) }
            if isLocked { try file.lock() }
            try file.write(bytes, at: 0)
            try file.synchronizeData()
            try files.rename(beside, to: path)
            try files.synchronizeFolder(path.removingLastComponent())
            return file
        } catch {
            file.close()
            try? files.remove(beside)
            throw error
        }
    }
}

/// Opens files that one open value owns at a time.
public enum LockedFile {
    /// How often opening is retried when the file is renamed or removed between opening and locking it.
    private static let maximumTries = 100

    /// Opens and locks the file at a path. Creates an empty file if there is none, with permissions for the owner only
    /// if `isPrivate`. Opens an existing one as `own` if `isOwn`.
    ///
    /// - Throws: `wouldBlock` from `flock` when the file is already locked, and errors of the file system.
    public static func open(
        _ path: FilePath,
        isPrivate: Bool = false,
        isOwn: Bool = false,
        in files: any FileSystem
    ) throws(FileError) -> any OpenFile {
        for _ in 0..<maximumTries {
            guard let file = try openOrCreate(path, isPrivate, isOwn, files) else { continue }
            do throws(FileError) {
                try file.lock()
                if try file.hasName(path) { return file }
            } catch {
                file.close()
                throw error
            }
            file.close()
        }
        throw FileError(call: "flock", path: path, errno: .wouldBlock)
    }

    /// Returns `nil` when the file was created or removed concurrently.
    private static func openOrCreate(
        _ path: FilePath,
        _ isPrivate: Bool,
        _ isOwn: Bool,
        _ files: any FileSystem
    ) throws(FileError) -> (any OpenFile)? {
        let isThere = try files.kind(of: path) != nil
        do throws(FileError) {
            let existing = isOwn ? FileOpening.own : .existing
            return try files.open(path, isThere ? existing : isPrivate ? .creatingPrivately : .creating)
        } catch {
            guard error.errno == (isThere ? .noSuchFileOrDirectory : .fileExists) else { throw error }
            return nil
        }
    }
}
