import Glibc
import SystemPackage

/// What tells that a file is another one, or has other content, than before.
struct FileStamp: Hashable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let modified: [Int]

    /// The stamp of the file at `path`; `nil` when nothing is there.
    init?(_ path: String) {
        guard let facts = try? FilePath(path).stat() else { return nil }
        device = UInt64(facts.deviceID.rawValue)
        inode = UInt64(facts.inode.rawValue)
        size = facts.size
        // The second is the time of the last change of any kind, which no program sets.
        modified = [facts.st_mtim, facts.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] }
    }
}
