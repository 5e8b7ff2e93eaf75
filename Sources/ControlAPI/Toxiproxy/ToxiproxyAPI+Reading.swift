import FaultProfile
import Units

extension ToxiproxyAPI {
    /// The proxy to create. Toxics are ignored here, as Toxiproxy ignores them.
    func definition(_ object: GoJSON) throws(ControlError) -> ProxyManager.Definition {
        var definition = proxies.definition(
            try object.text("name") ?? "",
            upstream: try object.text("upstream") ?? ""
        )
        definition.state.listen = try object.text("listen") ?? ""
        definition.state.isEnabled = try object.flag("enabled") ?? true
        definition.state.closesUnreached = true
        return definition
    }

    func toxic(of object: GoJSON) throws(ControlError) -> Toxic {
        let (name, word) = (try object.text("name") ?? "", try object.text("type") ?? "")
        let (stream, toxicity) = (try object.text("stream") ?? "", try object.decimal("toxicity") ?? 1)
        let written = stream.isEmpty ? "downstream" : stream
        guard ["upstream", "downstream"].contains(written.lowercased()) else {
            throw .invalid("stream was invalid, can be either upstream or downstream")
        }
        guard let type = ToxicType(rawValue: word) else { throw .invalid("invalid toxic type") }
        var toxic = Toxic(
            name: name.isEmpty ? "\(word)_\(written)" : name,
            type: type,
            writtenStream: written,
            toxicity: toxicity,
            values: Array(repeating: 0, count: type.attributes.count)
        )
        try ToxiproxyAPI.readAttributes(&toxic, object, isStrict: isStrict)
        try ControlError.checkPathName(toxic.name)
        try ToxiproxyAPI.check(toxic, isStrict: isStrict)
        return toxic
    }

    /// Changes the attributes and the toxicity that `object` has. Nothing changes if one of them is wrong.
    static func update(_ toxic: inout Toxic, _ object: GoJSON, isStrict: Bool) throws(ControlError) {
        var changed = toxic
        try readAttributes(&changed, object, isStrict: isStrict)
        changed.toxicity = try object.decimal("toxicity") ?? changed.toxicity
        try check(changed, isStrict: isStrict)
        toxic = changed
    }

    /// Reads the attributes that there are. Unless `isStrict`, one that the type doesn't have is an error; Toxiproxy ignores it.
    private static func readAttributes(
        _ toxic: inout Toxic,
        _ object: GoJSON,
        isStrict: Bool
    ) throws(ControlError) {
        guard let node = object.node("attributes") else { return }
        let names = toxic.type.attributes
        let attributes = try GoJSON(node)
        if !isStrict, let unknown = attributes.names.first(where: { !names.contains($0.lowercased()) }) {
            let known = names.isEmpty ? "it has none" : "it has \(names.joined(separator: ", "))"
            throw GoJSON.failure("\(toxic.type.rawValue) has no attribute \(unknown.quoted): \(known)")
        }
        for (index, name) in names.enumerated() {
            if let value = try attributes.integer(name) { toxic.values[index] = value }
        }
    }

    private static func check(_ toxic: Toxic, isStrict: Bool) throws(ControlError) {
        if !isStrict, let problem = toxic.problem { throw .invalid("invalid toxic: \(problem)") }
    }
}

extension ToxiproxyAPI {
    /// Makes or replaces each proxy of a list, in order, up to the first failure. A proxy that is there already, with the
    /// same addresses, is left alone.
    func populate(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let definitions: [ProxyManager.Definition]
        do throws(ControlError) {
            definitions = try self.definitions(try ToxiproxyAPI.objects(request.request.body))
        } catch {
            return populated([], error)
        }
        var done: [ManagedProxy] = []
        for definition in definitions {
            do throws(ControlError) {
                done.append(try await populate(definition))
            } catch {
                return populated(done, error)
            }
        }
        return populated(done, nil)
    }

    private func populate(
        _ definition: ProxyManager.Definition,
        attempts: Int = 16
    ) async throws(ControlError) -> ManagedProxy {
        do throws(ControlError) {
            guard let present = try? proxies.proxy(definition.name) else { return try await proxies.create(definition) }
            // It may still be starting.
            let (state, wanted) = (try await present.begun(), definition.state)
            let resolve = proxies.context.resolve
            if state.upstream == wanted.upstream,
                await ListenText.areSame(state.listen, wanted.listen, resolve: resolve)
            {
                return present
            }
            return try await proxies.replace(definition)
        } catch {
            // Another request has made or removed it meanwhile.
            let isOvertaken = [ControlError.proxyExists.code, ControlError.proxyNotFound.code].contains(error.code)
            guard isOvertaken, attempts > 1 else { throw error }
            return try await populate(definition, attempts: attempts - 1)
        }
    }

    private func populated(_ done: [ManagedProxy], _ error: ControlError?) -> APIResponse {
        // Of an empty list Toxiproxy makes null.
        let list: JSONText = done.isEmpty && isStrict ? .null : .array(done.map(json))
        guard let error else { return .json(.object([("proxies", list)]), status: 201) }
        return .json(
            .object([
                ("error", .text(error.text)), ("status", .signed(Int64(error.toxiproxyStatus))), ("proxies", list),
            ]),
            status: error.toxiproxyStatus
        )
    }

    /// The elements of a list of proxies.
    private static func objects(_ body: [UInt8]) throws(ControlError) -> [GoJSON] {
        let node = try GoJSON.value(of: body)
        guard case .array(let nodes) = node.value else {
            throw GoJSON.failure("\(node.value.form) stands where a list is due")
        }
        guard nodes.count <= ProxyManager.proxyLimit else {
            throw .limit("the server has at most \(ProxyManager.proxyLimit) proxies")
        }
        return try nodes.map { node throws(ControlError) in try GoJSON(node) }
    }

    /// The proxies of a list, all of them checked.
    private func definitions(_ objects: [GoJSON]) throws(ControlError) -> [ProxyManager.Definition] {
        var definitions: [ProxyManager.Definition] = []
        for (index, object) in objects.enumerated() {
            let definition = try definition(object)
            for (key, text) in [("name", definition.name), ("upstream", definition.state.upstream)] where text.isEmpty {
                throw .invalid("missing required field: \(key) at proxy \(index + 1)")
            }
            definitions.append(definition)
        }
        return definitions
    }

    /// Makes the proxies of a file: a list as for `/populate`, in which toxics count, and `profile` as in `api`.
    ///
    /// - Returns: the first problem; `nil` if there is none.
    package func load(_ text: [UInt8], with api: V1API) async -> String? {
        do throws(ControlError) {
            for (definition, _) in try list(text, api) {
                do throws(ControlError) {
                    try await proxies.create(definition)
                } catch {
                    return "proxy “\(definition.name)”: \(error.text)"
                }
            }
            return nil
        } catch {
            return error.text
        }
    }

    /// Makes or replaces the proxies of a text as for `load`, in order, up to the first failure. A proxy that is there
    /// already, with the same addresses, gets the toxics and the profile that the list gives it.
    func populate(_ text: [UInt8], with api: V1API) async throws(ControlError) -> [ManagedProxy] {
        var done: [ManagedProxy] = []
        for (listed, hasToxics) in try list(text, api) {
            var definition = listed
            // As for one proxy of `/v1`.
            definition.state.listen = V1API.listen(definition.state.listen)
            definition.state.upstream = SecureAddress.completing(definition.state.upstream)
            let proxy = try await populate(definition)
            done.append(proxy)
            if hasToxics {
                let toxics = listed.state.toxics
                try await proxy.changeFaults { state throws(ControlError) in state.toxics = toxics }
            }
            if let base = definition.state.base, base != proxy.state.base {
                try await proxy.setBase(base, definition.state.baseReference, restarts: true)
            }
        }
        return done
    }

    /// The proxies of a list with their toxics and profiles, all of them checked, and whether the list gives toxics.
    private func list(
        _ text: [UInt8],
        _ api: V1API
    ) throws(ControlError) -> [(definition: ProxyManager.Definition, hasToxics: Bool)] {
        let objects = try ToxiproxyAPI.objects(text)
        for object in objects { try checkKeys(of: object, ToxiproxyAPI.proxyKeys) }
        var list = try definitions(objects).map { (definition: $0, hasToxics: false) }
        for (index, object) in objects.enumerated() {
            if case .array(let items)? = object.node("toxics")?.value {
                list[index] = (list[index].definition, true)
                for item in items { try checkKeys(of: try GoJSON(item), ToxiproxyAPI.toxicKeys) }
                list[index].definition.state.toxics = try toxics(items)
            }
            // An object, or the name of one that `api` knows.
            guard let node = object.node("profile") else { continue }
            let (profile, reference) = try api.profileOrName(at: node)
            list[index].definition.state.base = profile
            list[index].definition.state.baseReference = reference
            list[index].definition.state.seed = profile.seed ?? proxies.seed
        }
        return list
    }

    /// The keys of a proxy, and of a toxic, in a list that Squall reads.
    private static let proxyKeys = ["name", "listen", "upstream", "enabled", "toxics", "profile"]
    private static let toxicKeys = ["name", "type", "stream", "toxicity", "attributes"]

    /// Throws for a key that would be ignored, unless `isStrict`; Toxiproxy ignores it.
    private func checkKeys(of object: GoJSON, _ known: [String]) throws(ControlError) {
        guard !isStrict, let unknown = object.names.first(where: { !known.contains($0) }) else { return }
        throw GoJSON.failure("unknown key \(unknown.quoted): the keys are \(known.joined(separator: ", "))")
    }

    func toxics(_ items: [JSONNode]) throws(ControlError) -> [Toxic] {
        guard items.count <= ProxyManager.toxicLimit else {
            throw .limit("a proxy has at most \(ProxyManager.toxicLimit) toxics")
        }
        var toxics: [Toxic] = []
        for item in items {
            let toxic = try toxic(of: try GoJSON(item))
            guard !toxics.contains(where: { $0.name == toxic.name }) else { throw .toxicExists }
            toxics.append(toxic)
        }
        return toxics
    }
}
