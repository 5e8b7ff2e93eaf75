import FaultProfile
import FoundationEssentials
import Journal
import ProfileFiles

extension JournalTraces {
    /// The name in a journal of the file at `path`.
    fileprivate static func written(_ path: String) -> String {
        let path = fromRoot(path)
        guard let folder = folder, path.hasPrefix(folder) else { return path }
        return String(path.dropFirst(folder.count))
    }

    /// The path of a file named `name` in a journal; `nil` without the folder of shipped profiles.
    static func opened(_ name: String) -> String? {
        name.hasPrefix("/") ? name : folder.map { $0 + name }
    }

    /// The folder of the shipped profiles, with a trailing slash.
    private static var folder: String? { ProfileLibrary.folder.map { fromRoot($0) + "/" } }

    /// The address of a server in a journal.
    static func address(_ upstream: String) -> String {
        address(upstream, from: FileManager.default.currentDirectoryPath)
    }

    private static func fromRoot(_ path: String) -> String {
        absolute(path, from: FileManager.default.currentDirectoryPath)
    }
}

extension Profile {
    /// The profile with its files named as in a journal.
    var inJournal: Profile { withFiles(JournalTraces.written) }
}
