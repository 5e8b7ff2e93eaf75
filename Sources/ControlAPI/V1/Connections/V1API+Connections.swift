import FaultProfile
import ProxyEngine
import Units

extension V1API {
    /// The most connections of a list: 10,000.
    static let connectionListLimit = 10_000

    func listConnections(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let limit = try request.number("limit", in: 1...V1API.connectionListLimit, fallback: 1_000)
        let chosen: [ManagedProxy]
        if let name = request.request.parameter("proxy") {
            chosen = [try proxies.proxy(name)]
        } else {
            chosen = proxies.all
        }
        var (list, total): ([JSONText], Int) = ([], 0)
        for proxy in chosen {
            guard let running = proxy.state.running else { continue }
            total += await running.statistics().open
            guard list.count < limit else { continue }
            list += await running.connections(limit: limit - list.count).map { $0.json(of: proxy.name) }
        }
        let count = Int64(max(total, list.count))
        return .json(.object([("connections", .array(list)), ("total", .signed(count))]))
    }

    func endConnection(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        guard let number = UInt64(request["number"]) else {
            throw .invalid("the number of a connection is a whole number")
        }
        let how = request.request.parameter("how") ?? "close"
        guard ["close", "reset"].contains(how) else { throw .invalid("how is close or reset") }
        guard await proxy.state.running?.endConnection(number, reset: how == "reset") == true else {
            throw .connectionNotFound(number)
        }
        return APIResponse(204)
    }
}

extension ConnectionSummary {
    /// The connection as a member of responses. Without an address the client is an empty text.
    fileprivate func json(of proxy: String) -> JSONText {
        .object([
            ("proxy", .text(proxy)), ("number", .number(number)), ("client", .text(client?.description ?? "")),
            ("age", .signed(age.wholeMilliseconds)), ("upstreamBytes", .signed(upstreamBytes)),
            ("downstreamBytes", .signed(downstreamBytes)), ("state", .text(state.rawValue)),
            ("faults", .array(faults.map(JSONText.text))),
        ])
    }
}
