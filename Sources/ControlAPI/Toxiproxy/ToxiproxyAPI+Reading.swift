import FaultProfile

extension ToxiproxyAPI {
    /// Runs `body`; what it can't read is the client's fault.
    static func read<Result>(_ body: () throws(GoJSON.Failure) -> Result) throws(ControlError) -> Result {
        do throws(GoJSON.Failure) {
            return try body()
        } catch {
            throw .invalid("bad request body: \(error.text)")
        }
    }

    /// The object that is the first value of a body.
    static func object(_ body: [UInt8]) throws(ControlError) -> GoJSON {
        try read { () throws(GoJSON.Failure) in try GoJSON(try GoJSON.value(of: body)) }
    }

    /// The proxy to create. Toxics are ignored here, as Toxiproxy ignores them.
    static func definition(_ object: GoJSON) throws(ControlError) -> ProxyManager.Definition {
        try read { () throws(GoJSON.Failure) in
            ProxyManager.Definition(
                name: try object.text("name") ?? "",
                listen: try object.text("listen") ?? "",
                upstream: try object.text("upstream") ?? "",
                isEnabled: try object.flag("enabled") ?? true,
                closesUnreached: true
            )
        }
    }

    /// The toxic to create.
    func toxic(of object: GoJSON) throws(ControlError) -> Toxic {
        let (name, word, stream, toxicity) = try ToxiproxyAPI.read { () throws(GoJSON.Failure) in
            (
                try object.text("name") ?? "", try object.text("type") ?? "", try object.text("stream") ?? "downstream",
                try object.decimal("toxicity") ?? 1
            )
        }
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
        try ToxiproxyAPI.readAttributes(&toxic, object)
        try ToxiproxyAPI.check(toxic, isStrict: isStrict)
        return toxic
    }

    /// Changes the attributes and the toxicity that `object` has. Nothing changes if one of them is wrong.
    static func update(_ toxic: inout Toxic, _ object: GoJSON, isStrict: Bool) throws(ControlError) {
        var changed = toxic
        try readAttributes(&changed, object)
        if let toxicity = try read({ () throws(GoJSON.Failure) in try object.decimal("toxicity") }) {
            changed.toxicity = toxicity
        }
        try check(changed, isStrict: isStrict)
        toxic = changed
    }

    private static func readAttributes(_ toxic: inout Toxic, _ object: GoJSON) throws(ControlError) {
        guard let node = object.node("attributes") else { return }
        let names = toxic.type.attributes
        let values = toxic.values
        toxic.values = try read { () throws(GoJSON.Failure) in
            let attributes = try GoJSON(node)
            var changed = values
            for (index, name) in names.enumerated() {
                if let value = try attributes.integer(name) { changed[index] = value }
            }
            return changed
        }
    }

    private static func check(_ toxic: Toxic, isStrict: Bool) throws(ControlError) {
        if !isStrict, let problem = toxic.problem { throw .invalid("invalid toxic: \(problem)") }
    }
}

extension ToxiproxyAPI {
    /// Makes or replaces each proxy of a list, in order, up to the first failure. A proxy that is there already, with the
    /// same addresses, is left alone.
    func populate(_ body: [UInt8]) async throws(ControlError) -> APIResponse {
        let definitions: [ProxyManager.Definition]
        do throws(ControlError) {
            definitions = try ToxiproxyAPI.definitions(body)
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

    private func populate(_ definition: ProxyManager.Definition) async throws(ControlError) -> ManagedProxy {
        guard let present = try? proxies.proxy(definition.name) else { return try await proxies.create(definition) }
        let state = present.state
        if state.upstream == definition.upstream, await ListenText.areSame(state.listen, definition.listen) {
            return present
        }
        return try await proxies.replace(definition)
    }

    private func populated(_ done: [ManagedProxy], _ error: ControlError?) -> APIResponse {
        // Of an empty list Toxiproxy makes null.
        let list: JSONText = done.isEmpty && isStrict ? .null : .array(done.map(json))
        guard let error else { return .json(.object([("proxies", list)]), status: 201) }
        return .json(
            .object([
                ("error", .text(error.text)), ("status", .signed(Int64(error.status))), ("proxies", list),
            ]),
            status: error.status
        )
    }

    /// The proxies of a list, all of them checked.
    static func definitions(_ body: [UInt8]) throws(ControlError) -> [ProxyManager.Definition] {
        let node = try read { () throws(GoJSON.Failure) in try GoJSON.value(of: body) }
        guard case .array(let nodes) = node.value else {
            throw .invalid("bad request body: \(node.value.form) stands where a list is due")
        }
        guard nodes.count <= ProxyManager.proxyLimit else {
            throw .limit("the server has at most \(ProxyManager.proxyLimit) proxies")
        }
        var definitions: [ProxyManager.Definition] = []
        for (index, node) in nodes.enumerated() {
            let object = try read { () throws(GoJSON.Failure) in try GoJSON(node) }
            let definition = try definition(object)
            guard !definition.name.isEmpty else {
                throw .invalid("missing required field: name at proxy \(index + 1)")
            }
            guard !definition.upstream.isEmpty else {
                throw .invalid("missing required field: upstream at proxy \(index + 1)")
            }
            definitions.append(definition)
        }
        return definitions
    }

    /// Makes the proxies of a file: a list as for `/populate`, in which toxics count, and `profile` as in `api`.
    ///
    /// - Returns: the first problem; `nil` if there is none.
    public func load(_ text: [UInt8], with api: V1API) async -> String? {
        do throws(ControlError) {
            var definitions = try ToxiproxyAPI.definitions(text)
            let lists = try toxics(text)
            for index in definitions.indices { definitions[index].toxics = lists[index] }
            try ToxiproxyAPI.addProfiles(to: &definitions, text, api)
            for definition in definitions {
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

    /// Gives proxies of a list the profile that each has under `profile`: an object, or the name of one that `api` knows.
    private static func addProfiles(
        to definitions: inout [ProxyManager.Definition],
        _ text: [UInt8],
        _ api: V1API
    ) throws(ControlError) {
        let list = try read { () throws(GoJSON.Failure) in try GoJSON.value(of: text) }
        guard case .array(let nodes) = list.value else { return }
        for (index, node) in nodes.enumerated() {
            let object = try read { () throws(GoJSON.Failure) in try GoJSON(node) }
            guard let node = object.node("profile") else { continue }
            let (profile, reference) = try api.profileOrName(at: node)
            definitions[index].base = profile
            definitions[index].baseReference = reference
            definitions[index].seed = profile.seed
        }
    }

    /// The toxics of each proxy of a list.
    private func toxics(_ text: [UInt8]) throws(ControlError) -> [[Toxic]] {
        let node = try ToxiproxyAPI.read { () throws(GoJSON.Failure) in try GoJSON.value(of: text) }
        guard case .array(let nodes) = node.value else { return [] }
        var lists: [[Toxic]] = []
        for node in nodes {
            let object = try ToxiproxyAPI.read { () throws(GoJSON.Failure) in try GoJSON(node) }
            var toxics: [Toxic] = []
            if case .array(let items)? = object.node("toxics")?.value {
                guard items.count <= ProxyManager.toxicLimit else {
                    throw .limit("a proxy has at most \(ProxyManager.toxicLimit) toxics")
                }
                for item in items {
                    let toxic = try toxic(
                        of: try ToxiproxyAPI.read { () throws(GoJSON.Failure) in try GoJSON(item) }
                    )
                    guard !toxics.contains(where: { $0.name == toxic.name }) else { throw .toxicExists(toxic.name) }
                    toxics.append(toxic)
                }
            }
            lists.append(toxics)
        }
        return lists
    }
}
