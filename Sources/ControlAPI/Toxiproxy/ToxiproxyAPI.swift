import FaultProfile
import HTTPTypes
import Units

/// Toxiproxy's HTTP API, as its clients rely on it.
package struct ToxiproxyAPI: Sendable {
    /// The version that clients see: its API is that of Toxiproxy 2.12.
    package static let version = "2.12.0"

    let proxies: ProxyManager
    /// Whether quirks are kept that a test might rely on; see docs/toxiproxy.md.
    let isStrict: Bool

    package init(proxies: ProxyManager, isStrict: Bool = false) {
        self.proxies = proxies
        self.isStrict = isStrict
    }

    /// Every route.
    static let routes: [APIRoute<ToxiproxyAPI>] = [
        APIRoute(.get, "/version", readVersion), APIRoute(.get, "/proxies", listProxies),
        APIRoute(.post, "/proxies", createProxy), APIRoute(.get, "/proxies/{name}", readProxy),
        APIRoute(.post, "/proxies/{name}", updateProxy), APIRoute(.patch, "/proxies/{name}", updateProxy),
        APIRoute(.delete, "/proxies/{name}", deleteProxy), APIRoute(.get, "/proxies/{name}/toxics", listToxics),
        APIRoute(.post, "/proxies/{name}/toxics", createToxic),
        APIRoute(.get, "/proxies/{name}/toxics/{toxic}", readToxic),
        APIRoute(.post, "/proxies/{name}/toxics/{toxic}", updateToxic),
        APIRoute(.patch, "/proxies/{name}/toxics/{toxic}", updateToxic),
        APIRoute(.delete, "/proxies/{name}/toxics/{toxic}", deleteToxic), APIRoute(.post, "/reset", reset),
        APIRoute(.post, "/populate", populate),
    ]

    /// The response to a request; `nil` if its path isn't one of the API's.
    package func respond(to request: APIRequest) async -> APIResponse? {
        guard let path = request.segments else { return nil }
        let matches = APIRoute.matching(path, in: ToxiproxyAPI.routes)
        if matches.isEmpty { return nil }
        guard let (route, parameters) = matches.first(where: { $0.route.method == request.method }) else {
            return APIResponse(405)
        }
        if isStrict, request.fields[.userAgent]?.hasPrefix("Mozilla/") == true {
            return APIResponse(403, type: "text/plain; charset=utf-8", text: "User agent not allowed\n")
        }
        var response: APIResponse
        do throws(ControlError) {
            response = try await route.handler(self)(RoutedRequest(request: request, parameters: parameters))
        } catch {
            response = ToxiproxyAPI.failure(error)
        }
        response.fields[.toxiproxyRequestID] = ToxiproxyAPI.newRequestID()
        return response
    }

    private func readVersion(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let type = "application/json;charset=utf-8"
        return APIResponse(200, type: type, text: "{\"version\": \"\(ToxiproxyAPI.version)\"}\n")
    }

    private func listProxies(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        .json(.object(proxies.all.map { ($0.name, json(of: $0)) }))
    }

    private func createProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let definition = try definition(try GoJSON(request.request.body))
        return .json(json(of: try await proxies.create(definition)), status: 201)
    }

    private func readProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        .json(json(of: try proxies.proxy(request["name"])))
    }

    private func updateProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        let object = try GoJSON(request.request.body)
        let (listen, upstream) = (try object.text("listen"), try object.text("upstream"))
        let isEnabled = try object.flag("enabled")
        // A Go client sends the whole proxy; an empty text keeps the value.
        try await proxy.update(listen: listen?.nonEmpty, upstream: upstream?.nonEmpty, isEnabled: isEnabled)
        return .json(json(of: proxy))
    }

    private func deleteProxy(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await proxies.remove(request["name"])
        return APIResponse(204)
    }

    private func listToxics(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        .json(.array(try proxies.proxy(request["name"]).state.orderedToxics.map(\.json)))
    }

    private func createToxic(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        let toxic = try toxic(of: try GoJSON(request.request.body))
        try await proxy.changeFaults { state throws(ControlError) in
            guard !state.toxics.contains(where: { $0.name == toxic.name }) else { throw .toxicExists }
            guard state.toxics.count < ProxyManager.toxicLimit else {
                throw .limit("a proxy has at most \(ProxyManager.toxicLimit) toxics")
            }
            state.toxics.append(toxic)
        }
        return .json(toxic.json)
    }

    private func readToxic(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        .json(try proxies.proxy(request["name"]).state.toxic(request["toxic"]).json)
    }

    private func updateToxic(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let (proxy, toxic) = (try proxies.proxy(request["name"]), request["toxic"])
        _ = try proxy.state.toxic(toxic)
        let object = try GoJSON(request.request.body)
        let isStrict = isStrict
        let changed = try await proxy.changeFaults { state throws(ControlError) in
            guard let index = state.toxics.firstIndex(where: { $0.name == toxic }) else { throw .toxicNotFound }
            try ToxiproxyAPI.update(&state.toxics[index], object, isStrict: isStrict)
            return state.toxics[index]
        }
        return .json(changed.json)
    }

    private func deleteToxic(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let toxic = request["toxic"]
        try await proxies.proxy(request["name"]).changeFaults { state throws(ControlError) in
            _ = try state.toxic(toxic)
            state.toxics.removeAll { $0.name == toxic }
        }
        return APIResponse(204)
    }

    private func reset(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await proxies.reset { $0.toxics = [] }
        return APIResponse(204)
    }

    func json(of proxy: ManagedProxy) -> JSONText {
        let state = proxy.state
        var members: [(key: String, value: JSONText)] = [
            ("name", .text(proxy.name)), ("listen", .text(state.address)), ("upstream", .text(state.upstream)),
            ("enabled", .flag(state.isEnabled)),
        ]
        if isStrict { members.append(("Logger", .object([]))) }
        members.append(("toxics", .array(state.orderedToxics.map(\.json))))
        return .object(members)
    }

    static func failure(_ error: ControlError) -> APIResponse {
        let body = JSONText.object([("error", .text(error.text)), ("status", .signed(Int64(error.toxiproxyStatus)))])
        var response = APIResponse(error.toxiproxyStatus, type: "text/plain; charset=utf-8", text: body.compact + "\n")
        response.fields[.xContentTypeOptions] = "nosniff"
        return response
    }

    private static func newRequestID() -> String {
        let digits = Array("0123456789abcdefghijklmnopqrstuv")
        return String((0..<20).map { _ in digits.randomElement() ?? "0" })
    }
}

extension HTTPField.Name {
    static let toxiproxyRequestID = HTTPField.Name("X-Toxiproxy-Request-Id") ?? .server
}

extension String {
    fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}

extension ManagedProxy.State {
    /// The toxics in the order of Toxiproxy's lists: upstream first, then downstream, each in order of creation.
    var orderedToxics: [Toxic] {
        toxics.filter { $0.direction == .upstream } + toxics.filter { $0.direction == .downstream }
    }

    func toxic(_ name: String) throws(ControlError) -> Toxic {
        guard let toxic = toxics.first(where: { $0.name == name }) else { throw .toxicNotFound }
        return toxic
    }
}
