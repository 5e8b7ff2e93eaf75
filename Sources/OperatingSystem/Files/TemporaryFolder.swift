import CProcess
import Glibc

/// A folder of temporary files. If its process is killed, the next process that makes one of the same name removes it.
///
/// The process holds a lock on the folder, which ends with it.
package final class TemporaryFolder: Sendable {
    /// The file that marks such a folder. It is made under the lock: a folder without it is never removed.
    static let mark = ".squall-temporary"

    package let path: String
    private let descriptor: Int32

    /// Makes the folder `NAME-XXXXXX`, which only its owner may open.
    ///
    /// - Throws: `SystemError` of mkdtemp(3).
    package init(name: String, in parent: String = UserFolders.temporary) throws(SystemError) {
        TemporaryFolder.removeAbandoned(name, in: parent)
        var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw .last("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        descriptor = TemporaryFolder.opened(path)
        // On a file system without locks it stays when the process is killed.
        guard TemporaryFolder.isLocked(descriptor) else { return }
        let mark = open("\(path)/\(TemporaryFolder.mark)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if mark >= 0 { close(mark) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Removes the folder with everything in it.
    package func remove() { TemporaryFolder.remove(path) }

    /// The mark goes last: a removal that is killed is done by the next process.
    private static func remove(_ path: String) {
        for name in FileNames.of(path) ?? [] where ![".", "..", mark].contains(name) {
            squall_remove_folder("\(path)/\(name)")
        }
        squall_remove_folder(path)
    }

    /// Removes the folders of a name that no process has anymore.
    private static func removeAbandoned(_ name: String, in parent: String) {
        for entry in FileNames.of(parent) ?? [] where entry.hasPrefix("\(name)-") {
            let path = "\(parent)/\(entry)"
            let descriptor = opened(path)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var (folder, file) = (stat(), stat())
            guard fstat(descriptor, &folder) == 0, folder.st_uid == geteuid(),
                fstatat(descriptor, mark, &file, AT_SYMLINK_NOFOLLOW) == 0, isLocked(descriptor)
            else { continue }
            remove(path)
        }
    }

    private static func opened(_ path: String) -> Int32 {
        open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }

    /// Locks a folder; `false` if another process has it.
    private static func isLocked(_ descriptor: Int32) -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }
}
