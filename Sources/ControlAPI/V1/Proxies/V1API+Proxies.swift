import FaultProfile
import ProxyEngine
import Units

extension V1API {
    func listProxies(_ request: RoutedRequest) async throws(ControlError) -> APIResponse { .json(await jsonOfAll()) }

    func readProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        .json(await json(of: try proxies.proxy(request["name"])))
    }

    func createProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let keys = ["name", "listen", "upstream", "enabled", "seed", "mode", "unreachable", "profile", "faults"]
        let object = try V1Object(try request.document(), keys: keys)
        var definition = try definition(object)
        // A snapshot may hold addresses of Toxiproxy's API, where no host means every interface.
        definition.state.listen = V1API.listen(definition.state.listen)
        definition.state.upstream = SecureAddress.completing(definition.state.upstream)
        // Toxiproxy's API has no such limit, so that a snapshot has none either.
        guard definition.name.unicodeScalars.count <= ProfileLimits.nameLength else {
            throw .invalid("the name has more than \(ProfileLimits.nameLength) characters")
        }
        let proxy = try await proxies.create(definition)
        return .json(await json(of: proxy), status: 201)
    }

    /// An address to listen on with its host: without one it is on the loopback interface, and an empty one at a free port.
    static func listen(_ text: String) -> String { SecureAddress.completing(text.isEmpty ? ":0" : text) }

    /// The proxy that an object of a request's body describes.
    ///
    /// - Parameter profile: a profile in place of the object's, or the name of one.
    func definition(_ object: V1Object, profile: JSONNode? = nil) throws(ControlError) -> ProxyManager.Definition {
        var definition = proxies.definition(
            try object.text("name") ?? "",
            upstream: try object.text("upstream") ?? ""
        )
        definition.state.listen = try object.text("listen") ?? "127.0.0.1:0"
        definition.state.isEnabled = try object.flag("enabled") ?? true
        let seed = try object.number("seed")
        switch try object.text("unreachable") {
        case nil, "reset": break
        case "close": definition.state.closesUnreached = true
        default: throw .invalid("unreachable is reset or close: the end of a client when the upstream can't be reached")
        }
        if let mode = try object.text("mode") {
            do throws(UnitError) {
                definition.state.listenPermissions = try SocketPermissions(parsing: mode)
            } catch {
                throw .invalid("mode: \(error.problem): \(error.remedy)")
            }
        }
        if let node = profile ?? object["profile"] {
            let (profile, reference) = try profileOrName(at: node)
            (definition.state.base, definition.state.baseReference) = (profile, reference)
        }
        definition.state.seed = seed ?? definition.state.base?.seed ?? proxies.seed
        if let node = object["faults"] {
            let faults = try ControlError.reading { () throws(ProfileProblems) in
                try ProfileReader.faults(at: node, in: RoutedRequest.bodyName) { profiles.resolve($0) }
            }
            definition.state.extras = faults.map { .init(fault: $0) }
        }
        return definition
    }

    func populate(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        var list: [JSONText] = []
        for proxy in try await ToxiproxyAPI(proxies: proxies).populate(request.request.body, with: self) {
            list.append(await json(of: proxy))
        }
        return .json(.object([("proxies", .array(list))]), status: 201)
    }

    func changeProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await changingProxy(request) { proxy throws(ControlError) in
            let object = try request.object("enabled", "listen", "upstream")
            try await proxy.update(
                listen: try object.text("listen").map(V1API.listen),
                upstream: try object.text("upstream").map(SecureAddress.completing),
                isEnabled: try object.flag("enabled")
            )
        }
    }

    /// Changes the proxy that a request names; the response shows it then.
    func changingProxy(
        _ request: RoutedRequest,
        _ change: (ManagedProxy) async throws(ControlError) -> Void
    ) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        try await change(proxy)
        return .json(await json(of: proxy))
    }

    /// Changes every proxy; the response shows them then.
    func changingAll(
        _ change: @escaping @Sendable (ManagedProxy) async throws(ControlError) -> Void
    ) async throws(ControlError) -> APIResponse {
        try await proxies.changeAll(change)
        return .json(await jsonOfAll())
    }

    func deleteProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await proxies.remove(request["name"])
        return APIResponse(204)
    }

    func putProfileOfProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await changingProxy(request) { proxy throws(ControlError) in
            let (profile, reference) = try profileOrName(at: try request.document())
            try await proxy.setBase(profile, reference, restarts: true)
        }
    }

    func deleteProfileOfProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await changingProxy(request) { proxy throws(ControlError) in try await proxy.setBase(nil, nil) }
    }

    func putProfileOfAll(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let (profile, reference) = try profileOrName(at: try request.document())
        return try await changingAll { proxy throws(ControlError) in
            try await proxy.setBase(profile, reference, restarts: true)
        }
    }

    func deleteProfileOfAll(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await changingAll { proxy throws(ControlError) in try await proxy.setBase(nil, nil) }
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
