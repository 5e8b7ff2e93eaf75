import DurableFiles
import SystemPackage

/// A file system with a hook before names are changed or synced.
struct HookedFiles: FileSystem {
    let files: any FileSystem
    /// Called with the call and path; throws the error to inject.
    var hook: @Sendable (_ call: String, _ path: FilePath) throws(FileError) -> Void

    func open(_ path: FilePath, _ mode: FileOpening) throws(FileError) -> any OpenFile { try files.open(path, mode) }

    func rename(_ old: FilePath, to new: FilePath, replaces: Bool) throws(FileError) {
        try hook("rename", new)
        try files.rename(old, to: new, replaces: replaces)
    }

    func remove(_ path: FilePath) throws(FileError) {
        try hook("unlink", path)
        try files.remove(path)
    }

    func makeFolder(_ path: FilePath) throws(FileError) { try files.makeFolder(path) }

    func names(in folder: FilePath) throws(FileError) -> [String] { try files.names(in: folder) }

    func kind(of path: FilePath) throws(FileError) -> FileKind? { try files.kind(of: path) }

    func synchronizeFolder(_ path: FilePath) throws(FileError) {
        try hook("fsync", path)
        try files.synchronizeFolder(path)
    }
}
