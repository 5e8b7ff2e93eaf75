import FaultProfile
import ProxyEngine
import Units

extension V1API {
    func listProxies(_ request: V1Request) async throws(ControlError) -> APIResponse { .json(await jsonOfAll()) }

    func readProxy(_ request: V1Request) async throws(ControlError) -> APIResponse {
        .json(await json(of: try proxies.proxy(request["name"])))
    }

    func createProxy(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let keys = ["name", "listen", "upstream", "enabled", "seed", "mode", "unreachable", "profile", "faults"]
        let object = try V1Object(try request.document(), keys: keys)
        var definition = try definition(object)
        // A snapshot may hold addresses of Toxiproxy's API, where no host means every interface.
        definition.listen = LoopbackAddress.completing(definition.listen)
        definition.upstream = LoopbackAddress.completing(definition.upstream)
        // Toxiproxy's API has no such limit, so that a snapshot has none either.
        guard definition.name.unicodeScalars.count <= ProfileLimits.nameLength else {
            throw .invalid("the name has more than \(ProfileLimits.nameLength) characters")
        }
        let proxy = try await proxies.create(definition)
        return .json(await json(of: proxy), status: 201)
    }

    /// The proxy that an object of a request's body describes.
    func definition(_ object: V1Object) throws(ControlError) -> ProxyManager.Definition {
        var definition = ProxyManager.Definition(
            name: try object.text("name") ?? "",
            listen: try object.text("listen") ?? "127.0.0.1:0",
            upstream: try object.text("upstream") ?? ""
        )
        definition.isEnabled = try object.flag("enabled") ?? true
        definition.seed = try object.number("seed")
        switch try object.text("unreachable") {
        case nil, "reset": break
        case "close": definition.closesUnreached = true
        default: throw .invalid("unreachable is reset or close: the end of a client when the upstream can't be reached")
        }
        if let mode = try object.text("mode") {
            do throws(UnitError) {
                definition.listenPermissions = try SocketPermissions(parsing: mode)
            } catch {
                throw .invalid("mode: \(error.problem): \(error.remedy)")
            }
        }
        if let node = object["profile"] {
            let (profile, reference) = try profileOrName(at: node)
            (definition.base, definition.baseReference) = (profile, reference)
            definition.seed = definition.seed ?? profile.seed
        }
        if let node = object["faults"] { definition.extras = try faults(at: node) }
        let count = (definition.base?.allFaults.count ?? 0) + definition.extras.count
        guard count <= ProfileLimits.faults else { throw .limit("a proxy has at most \(ProfileLimits.faults) faults") }
        return definition
    }

    private func faults(at node: JSONNode) throws(ControlError) -> [Fault] {
        let profiles = profiles
        do throws(ProfileProblems) {
            return try ProfileReader.faults(at: node, in: V1Request.bodyName) { profiles.resolve($0) }
        } catch {
            throw .problems(error)
        }
    }

    func changeProxy(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        let object = try request.object("enabled", "listen", "upstream")
        try await proxy.update(
            listen: try object.text("listen").map(LoopbackAddress.completing),
            upstream: try object.text("upstream").map(LoopbackAddress.completing),
            isEnabled: try object.flag("enabled")
        )
        return .json(await json(of: proxy))
    }

    func deleteProxy(_ request: V1Request) async throws(ControlError) -> APIResponse {
        try await proxies.remove(request["name"])
        return APIResponse(204)
    }

    func putProfileOfProxy(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        let (profile, reference) = try profileOrName(at: try request.document())
        try await proxy.setBase(profile, reference, restarts: true)
        return .json(await json(of: proxy))
    }

    func deleteProfileOfProxy(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        try await proxy.setBase(nil, nil)
        return .json(await json(of: proxy))
    }

    func putProfileOfAll(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let (profile, reference) = try profileOrName(at: try request.document())
        try await proxies.changeAll { proxy throws(ControlError) in
            try await proxy.setBase(profile, reference, restarts: true)
        }
        return .json(await jsonOfAll())
    }

    func deleteProfileOfAll(_ request: V1Request) async throws(ControlError) -> APIResponse {
        try await proxies.changeAll { proxy throws(ControlError) in try await proxy.setBase(nil, nil) }
        return .json(await jsonOfAll())
    }
}

extension ManagedProxy {
    /// Gives the proxy another profile; its own faults and toxics stay.
    ///
    /// - Parameter restarts: whether the phases begin with the first one, and a stopped clock runs.
    func setBase(_ profile: Profile?, _ reference: String?, restarts: Bool = false) async throws(ControlError) {
        try await changeFaults { state throws(ControlError) in
            state.base = profile
            state.baseReference = reference
        }
        // A proxy that has stopped meanwhile begins with its first phase anyway.
        if restarts, profile?.phases.isEmpty == false { _ = try? await state.running?.setClock(.restart) }
    }
}
