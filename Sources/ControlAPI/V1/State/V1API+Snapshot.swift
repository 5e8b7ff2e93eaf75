import FaultProfile

extension V1API {
    /// The most bytes of a snapshot's text: 64 MiB.
    package static let snapshotLimit = 64 << 20

    func readSnapshot(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        .json(await wholeSnapshot)
    }

    func restoreSnapshot(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let node = try request.document()
        let object = try V1Object(node, keys: V1API.snapshotKeys)
        // What isn't there would be deleted.
        for key in V1API.snapshotKeys where object[key] == nil { throw .invalid("missing required field: \(key)") }
        try await replaceAll(by: try snapshot(at: node))
        return .json(await wholeSnapshot)
    }

    private static let snapshotKeys = ["proxies", "profiles"]

    /// Proxies with their profiles, faults and toxics, and the stored profiles. Faults with a time aren't part of it, nor are
    /// connections, counters, the proxy of a command and those that are starting for the first time.
    private var snapshot: JSONText {
        let stored = profiles.stored.sorted { $0.key < $1.key }
        let begun = proxies.all.filter { $0.supervised == nil }.map { ($0.name, $0.state) }.filter(\.1.hasBegun)
        return .object([
            ("proxies", .array(begun.map { name, state in state.snapshot(of: name) })),
            ("profiles", .object(stored.map { ($0.key, ProfileWriter.json(of: $0.value)) })),
        ])
    }

    /// A snapshot that is never of half a replacement of the state.
    private var wholeSnapshot: JSONText {
        get async { await proxies.exchanging.withLock { snapshot } }
    }

    /// The text of a snapshot, as a file.
    package var snapshotText: String { get async { await wholeSnapshot.readable + "\n" } }

    /// Makes the proxies and profiles of a snapshot's text, in a server without proxies.
    ///
    /// - Throws: a `SnapshotProblem`; there are no proxies then.
    package func restore(_ bytes: [UInt8]) async throws(SnapshotProblem) {
        let wanted: Wanted
        do throws(ControlError) {
            wanted = try snapshot(at: try V1API.document(bytes, "snapshot", limit: V1API.snapshotLimit))
        } catch {
            throw SnapshotProblem(text: error.text, isDamaged: true)
        }
        do throws(ControlError) {
            try await replaceAll(by: wanted)
        } catch {
            throw SnapshotProblem(text: error.text, isDamaged: false)
        }
    }

    private typealias Wanted = (definitions: [ProxyManager.Definition], profiles: [String: Profile])

    private func replaceAll(by wanted: Wanted) async throws(ControlError) {
        let profiles = profiles
        try await proxies.replaceAll(with: wanted.definitions) { profiles.stored = wanted.profiles }
    }

    /// The proxies and profiles of a snapshot, all of them checked.
    private func snapshot(at node: JSONNode) throws(ControlError) -> Wanted {
        let object = try V1Object(node, keys: V1API.snapshotKeys)
        var stored: [String: Profile] = [:]
        for member in object["profiles"]?.members ?? [] {
            stored[member.key] = try profile(at: member.node, excluding: member.key)
        }
        guard stored.count <= ProfileStore.storedLimit else {
            throw .limit("the server stores at most \(ProfileStore.storedLimit) profiles")
        }
        var definitions: [ProxyManager.Definition] = []
        for node in try object.list("proxies", limit: ProxyManager.proxyLimit) {
            let keys = [
                "name", "listen", "upstream", "enabled", "seed", "mode", "unreachable", "profile", "profileName",
                "faults",
                "toxics",
            ]
            let object = try V1Object(node, keys: keys)
            var definition = try restored(object)
            guard !definitions.contains(where: { $0.name == definition.name }) else {
                throw .proxyExists
            }
            definition.state.baseReference = try object.text("profileName") ?? definition.state.baseReference
            definition.state.toxics = try ToxiproxyAPI(proxies: proxies, isStrict: true)
                .toxics(try object.list("toxics", limit: ProxyManager.toxicLimit))
            definitions.append(definition)
        }
        return (definitions, stored)
    }

    /// The proxy that an object of a snapshot describes. If its profile names files that aren't here, or that no client may
    /// name, it gets the profile of its `profileName`.
    private func restored(_ object: V1Object) throws(ControlError) -> ProxyManager.Definition {
        do throws(ControlError) {
            return try definition(object)
        } catch {
            let isMissing = !error.problems.isEmpty && error.problems.allSatisfy { $0.code == .notFound }
            guard isMissing, let name = object["profileName"],
                let definition = try? definition(object, profile: name)
            else { throw error }
            return definition
        }
    }
}

/// Why a snapshot can't be restored.
package struct SnapshotProblem: Error, Sendable {
    package let text: String
    /// Whether the text itself is wrong; otherwise a proxy can't start.
    package let isDamaged: Bool
}

extension ManagedProxy.State {
    fileprivate func snapshot(of proxy: String) -> JSONText {
        var members: [(key: String, value: JSONText)] = [
            ("name", .text(proxy)), ("listen", .text(listen)), ("upstream", .text(upstream)),
            ("enabled", .flag(isEnabled)), ("seed", .number(seed)),
        ]
        if let listenPermissions { members.append(("mode", .text(listenPermissions.description))) }
        if closesUnreached { members.append(("unreachable", .text("close"))) }
        if let base { members.append(("profile", ProfileWriter.json(of: base))) }
        if let baseReference { members.append(("profileName", .text(baseReference))) }
        let lasting = extras.filter { $0.until == nil }
        members.append(("faults", .array(lasting.map { ProfileWriter.json(of: $0.fault) })))
        members.append(("toxics", .array(toxics.map(\.json))))
        return .object(members)
    }
}
