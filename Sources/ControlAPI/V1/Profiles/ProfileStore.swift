import Digests
import FaultProfile
import Synchronization

/// The profiles that proxies can have by name: stored ones, those of a folder, and shipped ones, in this order.
package final class ProfileStore: Sendable {
    /// The most stored profiles: 256.
    package static let storedLimit = 256
    /// The bytes of a digest that make a version: 8.
    private static let versionBytes = 8

    /// A profile of a file, as far as a list shows it.
    package struct Listed: Sendable {
        package var name: String
        /// Its summary; empty if it can't be read.
        package var summary: String
        /// A digest of its content; empty if it can't be read.
        package var version = ""
        /// The reasons why it can't be used; empty if it can.
        package var problems: [Problem]

        package init(name: String, summary: String = "", problems: [Problem] = []) {
            self.name = name
            self.summary = summary
            self.problems = problems
        }

        /// A profile without problems.
        package init(name: String, _ profile: Profile) {
            self.init(name: name, summary: profile.summary)
            let text = ProfileWriter.canonicalText(of: profile)
            version = SHA256.hash(text.utf8).prefix(ProfileStore.versionBytes).hexadecimal
        }
    }

    /// The origin of a profile.
    enum Origin: String {
        case shipped, folder, stored
    }

    /// Gives the source that a reference means.
    package typealias Resolve = @Sendable (ProfileReference) -> Result<ProfileSource, ResolutionError>

    /// A stored profile and its entry in the list.
    private struct Stored {
        let profile: Profile
        let listed: Listed

        init(_ profile: Profile, as name: String) {
            self.profile = profile
            listed = Listed(name: name, profile)
        }
    }

    private struct State {
        var stored: [String: Stored] = [:]
        /// The profiles of the folder; `source` is that of the last good text.
        var folder: [String: (listed: Listed, source: ProfileSource?)] = [:]
        /// The files that the profiles of the folder name, readable or not.
        var folderFiles: Set<String> = []
        var shipped: Task<[Listed], Never>?
    }

    private let list: @Sendable () -> [Listed]
    private let resolveShipped: Resolve
    private let state = Mutex(State())
    private let notices: @Sendable () -> Void

    /// A store without stored profiles.
    ///
    /// - Parameters:
    ///   - shipped: lists the shipped profiles; called once, when the list is wanted.
    ///   - resolve: gives the source of a shipped profile, and of the files that files name.
    ///   - changed: called when the list has changed.
    package init(
        shipped: @escaping @Sendable () -> [Listed] = { [] },
        resolve: @escaping Resolve = { _ in
            .failure(ResolutionError(what: "there is no such profile", remedy: "give the profile itself"))
        },
        changed: @escaping @Sendable () -> Void = {}
    ) {
        list = shipped
        resolveShipped = resolve
        notices = changed
    }

    /// Every profile, in the order of their names.
    func all() async -> [(listed: Listed, origin: Origin)] {
        var known: [String: (Listed, Origin)] = [:]
        for listed in await shipped() { known[listed.name] = (listed, .shipped) }
        state.withLock { state in
            for (name, entry) in state.folder { known[name] = (entry.listed, .folder) }
            for (name, entry) in state.stored { known[name] = (entry.listed, .stored) }
        }
        return known.values.sorted { $0.0.name < $1.0.name }.map { (listed: $0.0, origin: $0.1) }
    }

    private func shipped() async -> [Listed] {
        let task = state.withLock { state in
            if let task = state.shipped { return task }
            let list = list
            let task = Task.detached { list() }
            state.shipped = task
            return task
        }
        return await task.value
    }

    func profile(_ name: String) throws(ControlError) -> Profile {
        let (stored, source) = state.withLock { ($0.stored[name]?.profile, $0.folder[name]?.source) }
        if let stored { return stored }
        let found: ProfileSource
        if let source {
            found = source
        } else if let problems = state.withLock({ $0.folder[name]?.listed.problems }), !problems.isEmpty {
            throw .problems(ProfileProblems(problems: problems))
        } else {
            guard case .shipped(let name) = ProfileReference(name, in: "") else { throw .profileNotFound(name) }
            switch resolveShipped(.shipped(name)) {
            case .success(let shipped): found = shipped
            case .failure(let reason): throw .profileNotFound(reason)
            }
        }
        return try ControlError.reading { () throws(ProfileProblems) in
            try ProfileReader.profile(from: found) { [self] in resolve($0, excluding: name) }
        }
    }

    /// Gives the source that a reference in a profile means. The profile stored as `excluded` isn't found, so that it can
    /// extend the shipped one of its name.
    func resolve(_ reference: ProfileReference, excluding excluded: String? = nil)
        -> Result<ProfileSource, ResolutionError>
    {
        if case .shipped(let name) = reference, name != excluded {
            let (stored, source) = state.withLock { ($0.stored[name]?.profile, $0.folder[name]?.source) }
            if let stored {
                return .success(ProfileSource(file: "stored:\(name)", text: ProfileWriter.text(of: stored)))
            }
            if let source { return .success(source) }
        }
        return resolveShipped(reference)
    }

    /// Takes over the profiles of a folder; returns the problems of those whose problems have changed.
    func takeFolder(_ sources: [String: ProfileSource]) -> [String: [Problem]] {
        let before = state.withLock { state in
            defer {
                state.folderFiles = []
                // While they are read, they can extend each other as they are now.
                state.folder = state.folder.filter { sources[$0.key] != nil }
                for (name, source) in sources { state.folder[name, default: (.init(name: name), nil)].source = source }
            }
            return state.folder
        }
        var changed: [String: [Problem]] = [:]
        var folder: [String: (listed: Listed, source: ProfileSource?)] = [:]
        for (name, source) in sources {
            do throws(ProfileProblems) {
                let profile = try ProfileReader.profile(from: source) { [self] reference in
                    if let path = reference.path { state.withLock { _ = $0.folderFiles.insert(path) } }
                    return resolve(reference, excluding: name)
                }
                folder[name] = (Listed(name: name, profile), source)
                if before[name]?.listed.problems.isEmpty == false { changed[name] = [] }
            } catch {
                let old = before[name]
                // The last good text stays in use.
                var listed = old?.listed ?? Listed(name: name)
                listed.problems = error.problems
                folder[name] = (listed, old?.source)
                if old?.listed.problems != error.problems { changed[name] = error.problems }
            }
        }
        let taken = folder
        state.withLock { $0.folder = taken }
        notices()
        return changed
    }

    /// The files that the profiles of the folder name, sorted.
    var folderFiles: [String] { state.withLock { $0.folderFiles.sorted() } }

    /// Whether the folder has a profile of a name.
    func isInFolder(_ name: String) -> Bool { state.withLock { $0.folder[name] != nil } }

    /// Stores a profile under a name, in the place of the one that was stored before.
    func store(_ profile: Profile, as name: String) throws(ControlError) {
        let entry = Stored(profile, as: name)
        try state.withLock { state throws(ControlError) in
            guard state.stored[name] != nil || state.stored.count < ProfileStore.storedLimit else {
                throw .limit("the server stores at most \(ProfileStore.storedLimit) profiles")
            }
            state.stored[name] = entry
        }
        notices()
    }

    /// Deletes a stored profile. Proxies that have it keep it.
    func remove(_ name: String) throws(ControlError) {
        let (removed, isInFolder) = state.withLock { ($0.stored.removeValue(forKey: name), $0.folder[name] != nil) }
        guard removed == nil else { return notices() }
        if isInFolder { throw .conflict("the profile “\(name)” is one of the folder: delete its file") }
        guard (try? profile(name)) == nil else { throw .conflict("the profile “\(name)” is a shipped one") }
        throw .profileNotFound(name)
    }

    var stored: [String: Profile] {
        get { state.withLock { $0.stored }.mapValues(\.profile) }
        set {
            let entries = Dictionary(uniqueKeysWithValues: newValue.map { ($0, Stored($1, as: $0)) })
            state.withLock { $0.stored = entries }
            notices()
        }
    }
}
