import FaultProfile

extension V1API {
    /// The most bytes of a snapshot's text: 64 MiB.
    public static let snapshotLimit = 64 << 20

    func readSnapshot(_ request: V1Request) async throws(ControlError) -> APIResponse { .json(snapshot) }

    func restoreSnapshot(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let wanted = try snapshot(at: try request.document())
        let (definitions, stored) = try snapshot(at: try V1API.document(Array(snapshot.compact.utf8)))
        do throws(ControlError) {
            try await replaceAll(wanted.definitions, wanted.profiles)
        } catch {
            // The old proxies come back at the addresses that they had.
            try await replaceAll(definitions, stored)
            throw error
        }
        return .json(snapshot)
    }

    /// Proxies with their profiles, faults and toxics, and the stored profiles. Faults with a time aren't part of it, nor are
    /// connections and counters.
    var snapshot: JSONText {
        let stored = profiles.stored.sorted { $0.key < $1.key }
        return .object([
            ("proxies", .array(proxies.all.map { $0.state.snapshot(of: $0.name) })),
            ("profiles", .object(stored.map { ($0.key, ProfileWriter.json(of: $0.value)) })),
        ])
    }

    /// The text of a snapshot, as a file.
    public var snapshotText: String { snapshot.readable + "\n" }

    /// Makes the proxies and profiles of a snapshot's text, in a server without proxies.
    ///
    /// - Throws: a `SnapshotProblem`; the proxies before it stay.
    public func restore(_ bytes: [UInt8]) async throws(SnapshotProblem) {
        let wanted: (definitions: [ProxyManager.Definition], profiles: [String: Profile])
        do throws(ControlError) {
            wanted = try snapshot(at: try V1API.document(bytes))
        } catch {
            throw SnapshotProblem(text: error.text, isDamaged: true)
        }
        do throws(ControlError) {
            try await replaceAll(wanted.definitions, wanted.profiles)
        } catch {
            throw SnapshotProblem(text: error.text, isDamaged: false)
        }
    }

    private func replaceAll(
        _ definitions: [ProxyManager.Definition],
        _ stored: [String: Profile]
    ) async throws(ControlError) {
        for proxy in proxies.all { try? await proxies.remove(proxy.name) }
        profiles.stored = stored
        for definition in definitions { try await proxies.create(definition) }
    }

    private static func document(_ bytes: [UInt8]) throws(ControlError) -> JSONNode {
        do throws(ProfileProblems) {
            return try ProfileReader.document(ProfileSource(file: "snapshot", bytes: bytes), limit: snapshotLimit)
        } catch {
            throw .problems(error)
        }
    }

    /// The proxies and profiles of a snapshot, all of them checked.
    private func snapshot(
        at node: JSONNode
    ) throws(ControlError) -> (definitions: [ProxyManager.Definition], profiles: [String: Profile]) {
        let object = try V1Object(node, keys: ["proxies", "profiles"])
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
                "name", "listen", "upstream", "enabled", "seed", "mode", "unreachable", "profile", "profileName", "faults",
                "toxics",
            ]
            let object = try V1Object(node, keys: keys)
            var definition = try definition(object)
            guard !definitions.contains(where: { $0.name == definition.name }) else {
                throw .proxyExists(definition.name)
            }
            definition.baseReference = try object.text("profileName") ?? definition.baseReference
            definition.toxics = try toxics(object)
            definitions.append(definition)
        }
        return (definitions, stored)
    }

    private func toxics(_ object: V1Object) throws(ControlError) -> [Toxic] {
        let toxiproxy = ToxiproxyAPI(proxies: proxies, isStrict: true)
        var toxics: [Toxic] = []
        for node in try object.list("toxics", limit: ProxyManager.toxicLimit) {
            let toxic = try toxiproxy.toxic(of: try ToxiproxyAPI.read { () throws(GoJSON.Failure) in try GoJSON(node) })
            guard !toxics.contains(where: { $0.name == toxic.name }) else { throw .toxicExists(toxic.name) }
            toxics.append(toxic)
        }
        return toxics
    }
}

/// Why a snapshot can't be restored.
public struct SnapshotProblem: Error, Sendable {
    /// The reason.
    public let text: String
    /// Whether the text itself is wrong; otherwise a proxy can't start.
    public let isDamaged: Bool
}

extension ManagedProxy.State {
    /// The proxy as an element of a snapshot.
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
