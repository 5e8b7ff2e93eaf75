import FaultProfile
import HTTPTypes

/// Answers every request to the control server.
public struct ControlHandler: Sendable {
    /// The most bytes of a request's body: 8 MiB.
    public static let bodyLimit = 8 << 20

    private let requestGuard: RequestGuard
    private let toxiproxy: ToxiproxyAPI
    private let v1: V1API?
    private let keep: Keep?

    /// Makes the changes so far durable. Returns why it can't, in one line; `nil` when they are.
    public typealias Keep = @Sendable () async -> String?

    /// A handler of requests that `requestGuard` lets through. Without `v1` it has Toxiproxy's API only.
    ///
    /// - Parameter keep: called before the response to a request that may have changed something.
    public init(requestGuard: RequestGuard, toxiproxy: ToxiproxyAPI, v1: V1API? = nil, keep: Keep? = nil) {
        self.requestGuard = requestGuard
        self.toxiproxy = toxiproxy
        self.v1 = v1
        self.keep = keep
    }

    /// The response to a request.
    public func respond(to request: APIRequest) async -> APIResponse {
        switch requestGuard.refusal(of: request) {
        case .crossSite(let reason):
            return V1API.owns(request)
                ? .problem(403, "forbidden", reason) : ControlHandler.error(403, reason)
        case .unauthorized:
            let reason = "a token is needed: Authorization: Bearer TOKEN"
            var response =
                V1API.owns(request)
                ? APIResponse.problem(401, "unauthorized", reason) : ControlHandler.error(401, reason)
            response.fields[.wwwAuthenticate] = "Bearer"
            return response
        case nil: break
        }
        if request.path.contains("//") { return ControlHandler.redirect(request) }
        guard let response = await response(to: request) else {
            return APIResponse(404, type: "text/plain; charset=utf-8", text: "404 page not found\n")
        }
        // A refused request may have changed something as well, such as the first proxies of a list.
        guard let keep, request.method != .get, request.method != .head, let problem = await keep(),
            response.status < 400
        else { return response }
        let reason = "the change acts, but it isn't kept: \(problem)"
        return V1API.owns(request) ? .problem(500, "not-durable", reason) : ControlHandler.error(500, reason)
    }

    private func response(to request: APIRequest) async -> APIResponse? {
        if let response = await v1?.respond(to: request) { return response }
        return await toxiproxy.respond(to: request)
    }

    /// The response to a request whose body is too long, or came too slowly. `request` is without its body.
    public static func unread(_ request: APIRequest, _ status: Int, _ reason: String) -> APIResponse {
        var response =
            V1API.owns(request)
            ? APIResponse.problem(status, status == 413 ? "too-large" : "timeout", reason) : error(status, reason)
        response.fields[.connection] = "close"
        return response
    }

    private static func error(_ status: Int, _ text: String) -> APIResponse {
        let body = JSONText.object([("error", .text(text)), ("status", .signed(Int64(status)))])
        return APIResponse(status, type: "application/json", text: body.compact + "\n")
    }

    /// To the path without its doubled slashes.
    private static func redirect(_ request: APIRequest) -> APIResponse {
        var response = APIResponse(301)
        let parts = request.path.split(separator: "/")
        let end = request.path.hasSuffix("/") && !parts.isEmpty ? "/" : ""
        let query = request.query.isEmpty ? "" : "?\(request.query)"
        response.fields[.location] = "/" + parts.joined(separator: "/") + end + query
        return response
    }
}
