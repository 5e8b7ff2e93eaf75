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

    /// The API over `proxies`.
    package init(proxies: ProxyManager, isStrict: Bool = false) {
        self.proxies = proxies
        self.isStrict = isStrict
    }

    /// The response to a request; `nil` if its path isn't one of the API's.
    package func respond(to request: APIRequest) async -> APIResponse? {
        guard let segments = request.segments else { return nil }
        switch ToxiproxyRoute.match(request.method, segments) {
        case .none: return nil
        case .wrongMethod: return APIResponse(405)
        case .route(let route):
            if isStrict, request.fields[.userAgent]?.hasPrefix("Mozilla/") == true {
                return APIResponse(403, type: "text/plain; charset=utf-8", text: "User agent not allowed\n")
            }
            var response: APIResponse
            do throws(ControlError) {
                response = try await respond(to: route, body: request.body)
            } catch {
                response = ToxiproxyAPI.failure(error)
            }
            response.fields[.toxiproxyRequestID] = ToxiproxyAPI.newRequestID()
            return response
        }
    }

    private func respond(to route: ToxiproxyRoute, body: [UInt8]) async throws(ControlError) -> APIResponse {
        switch route {
        case .version:
            let type = "application/json;charset=utf-8"
            return APIResponse(200, type: type, text: "{\"version\": \"\(ToxiproxyAPI.version)\"}\n")
        case .proxies:
            return .json(.object(proxies.all.map { ($0.name, json(of: $0)) }))
        case .createProxy:
            let definition = try ToxiproxyAPI.definition(try GoJSON(body))
            return .json(json(of: try await proxies.create(definition)), status: 201)
        case .proxy(let name):
            return .json(json(of: try proxies.proxy(name)))
        case .updateProxy(let name):
            let proxy = try proxies.proxy(name)
            let object = try GoJSON(body)
            let (listen, upstream) = (try object.text("listen"), try object.text("upstream"))
            let isEnabled = try object.flag("enabled")
            // A Go client sends the whole proxy; an empty text keeps the value.
            try await proxy.update(listen: listen?.nonEmpty, upstream: upstream?.nonEmpty, isEnabled: isEnabled)
            return .json(json(of: proxy))
        case .deleteProxy(let name):
            try await proxies.remove(name)
            return APIResponse(204)
        case .toxics(let name):
            return .json(.array(try proxies.proxy(name).state.orderedToxics.map(\.json)))
        case .createToxic(let name):
            let proxy = try proxies.proxy(name)
            let toxic = try toxic(of: try GoJSON(body))
            try await proxy.changeFaults { state throws(ControlError) in
                guard !state.toxics.contains(where: { $0.name == toxic.name }) else { throw .toxicExists }
                guard state.toxics.count < ProxyManager.toxicLimit else {
                    throw .limit("a proxy has at most \(ProxyManager.toxicLimit) toxics")
                }
                state.toxics.append(toxic)
            }
            return .json(toxic.json)
        case .toxic(let name, let toxic):
            return .json(try proxies.proxy(name).state.toxic(toxic).json)
        case .updateToxic(let name, let toxic):
            let proxy = try proxies.proxy(name)
            _ = try proxy.state.toxic(toxic)
            let object = try GoJSON(body)
            let isStrict = isStrict
            let changed = try await proxy.changeFaults { state throws(ControlError) in
                guard let index = state.toxics.firstIndex(where: { $0.name == toxic }) else {
                    throw .toxicNotFound
                }
                try ToxiproxyAPI.update(&state.toxics[index], object, isStrict: isStrict)
                return state.toxics[index]
            }
            return .json(changed.json)
        case .deleteToxic(let name, let toxic):
            try await proxies.proxy(name).changeFaults { state throws(ControlError) in
                _ = try state.toxic(toxic)
                state.toxics.removeAll { $0.name == toxic }
            }
            return APIResponse(204)
        case .reset:
            try await proxies.reset { $0.toxics = [] }
            return APIResponse(204)
        case .populate:
            return try await populate(body)
        }
    }

    /// A proxy as Toxiproxy writes it.
    func json(of proxy: ManagedProxy) -> JSONText {
        let state = proxy.state
        var members: [(key: String, value: JSONText)] = [
            ("name", .text(proxy.name)), ("listen", .text(state.listen)), ("upstream", .text(state.upstream)),
            ("enabled", .flag(state.isEnabled)),
        ]
        if isStrict { members.append(("Logger", .object([]))) }
        members.append(("toxics", .array(state.orderedToxics.map(\.json))))
        return .object(members)
    }

    /// An error as Toxiproxy writes it.
    static func failure(_ error: ControlError) -> APIResponse {
        let body = JSONText.object([("error", .text(error.text)), ("status", .signed(Int64(error.toxiproxyStatus)))])
        var response = APIResponse(error.toxiproxyStatus, type: "text/plain; charset=utf-8", text: body.compact + "\n")
        response.fields[.xContentTypeOptions] = "nosniff"
        return response
    }

    /// Twenty letters and digits.
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

    /// The toxic of a name.
    func toxic(_ name: String) throws(ControlError) -> Toxic {
        guard let toxic = toxics.first(where: { $0.name == name }) else { throw .toxicNotFound }
        return toxic
    }
}
