import SystemPackage

/// Where a download lies while it grows, and where it goes in the end.
struct PartialFilePaths: Sendable {
    /// The file to be.
    let destination: FilePath
    /// The folder of them all.
    let folder: FilePath
    /// The bytes so far: `.NAME.squall-part`.
    let data: FilePath
    /// What is known of them: `.NAME.squall-journal`.
    let journal: FilePath

    /// Fails when the destination can't name a file.
    init(destination: FilePath) throws(DownloadError) {
        guard let name = destination.lastComponent, name.kind == .regular else {
            throw .invalidDestination(destination.string, "it names no file")
        }
        guard (try? destination.stat())?.type != .directory else {
            throw .invalidDestination(destination.string, "it is a directory; add the name of the file")
        }
        self.destination = destination
        let parent = destination.removingLastComponent()
        folder = parent.isEmpty ? "." : parent
        data = folder.appending(".\(name.string).squall-part")
        journal = folder.appending(".\(name.string).squall-journal")
    }
}
