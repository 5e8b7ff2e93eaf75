import FaultProfile
import HTTPTypes

/// Answers every request to the control server.
public struct ControlHandler: Sendable {
    /// The most bytes of a request's body: 8 MiB.
    public static let bodyLimit = 8 << 20

    private let requestGuard: RequestGuard
    private let toxiproxy: ToxiproxyAPI

    /// A handler of requests that `requestGuard` lets through.
    public init(requestGuard: RequestGuard, toxiproxy: ToxiproxyAPI) {
        self.requestGuard = requestGuard
        self.toxiproxy = toxiproxy
    }

    /// The response to a request.
    public func respond(to request: APIRequest) async -> APIResponse {
        switch requestGuard.refusal(of: request) {
        case .crossSite(let reason):
            return ControlHandler.error(403, reason)
        case .unauthorized:
            var response = ControlHandler.error(401, "a token is needed: Authorization: Bearer TOKEN")
            response.fields[.wwwAuthenticate] = "Bearer"
            return response
        case nil: break
        }
        if request.path.contains("//") { return ControlHandler.redirect(request) }
        if let response = await toxiproxy.respond(to: request) { return response }
        return APIResponse(404, type: "text/plain; charset=utf-8", text: "404 page not found\n")
    }

    /// The response to a request whose body is too long, or came too slowly.
    public static func unread(_ status: Int, _ reason: String) -> APIResponse {
        var response = error(status, reason)
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
