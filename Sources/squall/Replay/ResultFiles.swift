import Foundation
import SystemPackage

/// The files that a search for the smallest list of faults writes.
struct ResultFiles {
    /// The profile that was found.
    let profile: String
    /// The journal of the last run.
    let journal: String

    init(_ path: String) {
        profile = path + ".json"
        journal = path + ".jsonl"
    }

    /// Makes sure that both can be written, and neither is what is read, and leaves what is there as it is.
    func check(reading recording: String) throws(CommandFailure) {
        for path in [profile, journal] {
            if FileProblem.isSameFile(path, recording) {
                throw .wrongInput("“\(path)” would be written over the journal that is read: name another --output")
            }
            do {
                try ResultFiles.open(FilePath(path))
            } catch {
                throw .wrongInput("can't write “\(path)”: \(error) (--output)")
            }
        }
    }

    private static func open(_ path: FilePath) throws {
        do {
            try FileDescriptor.open(path, .writeOnly, options: [.closeOnExec]).close()
        } catch Errno.noSuchFileOrDirectory {
            let options: FileDescriptor.OpenOptions = [.create, .exclusiveCreate, .closeOnExec]
            try FileDescriptor.open(path, .writeOnly, options: options, permissions: .ownerReadWrite).close()
            try FileManager.default.removeItem(atPath: path.string)
        }
    }
}
