import Glibc
import SystemPackage

/// Identifies a file's identity and content, to detect changes.
package struct FileStamp: Hashable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let modified: [Int]

    /// The stamp of the file at `path`; `nil` if there is none.
    package init?(_ path: String) {
        guard let facts = try? FilePath(path).stat() else { return nil }
        device = UInt64(facts.deviceID.rawValue)
        inode = UInt64(facts.inode.rawValue)
        size = facts.size
        // The second value is ctime, which programs can't set.
        modified = [facts.st_mtim, facts.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] }
    }
}
