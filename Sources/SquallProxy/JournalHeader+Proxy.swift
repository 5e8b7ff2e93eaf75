internal import FaultPlan
internal import FaultProfile
internal import Foundation
internal import Journal
internal import ProxyEngine
internal import ShippedProfiles
internal import Units

extension JournalHeader {
    /// The header of the journal of a proxy whose clock starts with it, at `time`.
    init(of configuration: ProxyConfiguration, time: String) {
        let proxy = ProxyEntry(
            name: configuration.name,
            seed: configuration.seed,
            upstream: JournalTraces.address(
                "\(configuration.destination)",
                from: FileManager.default.currentDirectoryPath
            )
        )
        self.init(
            version: Version.current,
            profile: configuration.profile.inJournal,
            proxies: [proxy],
            time: time
        )
    }
}

extension Profile {
    var inJournal: Profile {
        withFiles { path in
            let folder = ShippedProfiles.folder
            guard path.hasPrefix(folder) else {
                return JournalTraces.absolute(path, from: FileManager.default.currentDirectoryPath)
            }
            return String(path.dropFirst(folder.count))
        }
    }
}
