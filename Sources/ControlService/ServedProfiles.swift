import ControlAPI
import FaultProfile
import FoundationEssentials
import ProfileFiles

/// The profiles that the control server can give to proxies by name.
package enum ServedProfiles {
    /// A store of the shipped profiles.
    ///
    /// - Parameters:
    ///   - folder: the watched folder, whose files profiles may name.
    ///   - changed: called when the list of profiles has changed.
    package static func store(folder: String?, changed: @escaping @Sendable () -> Void) -> ProfileStore {
        let folder = folder.map(absolute)
        return ProfileStore(shipped: { shipped() }, resolve: { resolve($0, folder) }, changed: changed)
    }

    /// Every shipped profile and preset. Each file is read once.
    private static func shipped() -> [ProfileStore.Listed] {
        guard let folder = ProfileLibrary.folder else { return [] }
        var list = ProfileLibrary.ownProfiles.map { name in
            listed(name) { () throws(ProfileProblems) in
                guard case .success(let source) = ProfileLibrary.resolve(.shipped(name)) else { return nil }
                return try ProfileReader.profile(from: source, resolving: ProfileLibrary.resolve)
            }
        }
        for file in ProfileLibrary.presetFileNames {
            guard let source = try? ProfileLibrary.read("\(folder)/presets/\(file).json").get() else { continue }
            for name in PresetFile(source)?.names ?? [file] {
                var source = source
                source.preset = PresetFile(source) == nil ? nil : name
                list.append(
                    listed(name) { () throws(ProfileProblems) in
                        try ProfileReader.profile(from: source, resolving: ProfileLibrary.resolve)
                    }
                )
            }
        }
        return list
    }

    private static func listed(
        _ name: String,
        _ read: () throws(ProfileProblems) -> Profile?
    ) -> ProfileStore.Listed {
        do throws(ProfileProblems) {
            guard let profile = try read() else { return ProfileStore.Listed(name: name) }
            return ProfileStore.Listed(name: name, profile)
        } catch {
            return ProfileStore.Listed(name: name, summary: "", problems: error.problems)
        }
    }

    /// The absolute path without what makes two of one: `./served/` and `served` are the same folder.
    static func absolute(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// A shipped profile, or a file in its folder or the watched one. Other files stay closed to clients.
    private static func resolve(
        _ reference: ProfileReference,
        _ folder: String?
    ) -> Result<ProfileSource, ResolutionError> {
        guard let path = reference.path else { return ProfileLibrary.resolve(reference) }
        let folders = [ProfileLibrary.folder.map(absolute), folder].compactMap { $0 }
        if !path.contains("\0"), folders.contains(where: { isBelow($0, absolute(path)) }) {
            return ProfileLibrary.resolve(reference)
        }
        let what = "a profile that comes by HTTP can't name the file \(path.quoted)"
        let remedy = "name a shipped profile, copy what it needs, or name a file with the path of the served folder"
        return .failure(ResolutionError(what: what, remedy: remedy))
    }

    /// Whether an absolute path is one of a file below the folder, and leaves it nowhere.
    private static func isBelow(_ folder: String, _ path: String) -> Bool {
        path.hasPrefix("\(folder)/") && !path.dropFirst(folder.count).split(separator: "/").contains("..")
    }
}
