import EventLoop
import FaultProfile
import HTTPTypes
import OperatingSystem

/// Answers every request to the control server.
package struct ControlHandler: Sendable {
    /// The most bytes of a request's body: 8 MiB.
    package static let bodyLimit = 8 << 20
    /// The most bytes of a body whose request is handled beside others: 64 KiB.
    private static let shortBody = 64 << 10

    private let requestGuard: RequestGuard
    private let toxiproxy: ToxiproxyAPI
    private let v1: V1API?
    private let keep: Keep?

    /// Makes the changes so far durable. Returns why it can't, in one line; `nil` when they are.
    package typealias Keep = @Sendable () async -> String?

    /// A handler of requests that `requestGuard` lets through. Without `v1` it has Toxiproxy's API only.
    ///
    /// - Parameter keep: called before the response to a request that may have changed something.
    package init(requestGuard: RequestGuard, toxiproxy: ToxiproxyAPI, v1: V1API? = nil, keep: Keep? = nil) {
        self.requestGuard = requestGuard
        self.toxiproxy = toxiproxy
        self.v1 = v1
        self.keep = keep
    }

    /// The response to a request that is refused by its head alone, whatever its content is: because of its sender, or of
    /// a length that its path doesn't take. `nil` for others.
    package func refusal(of head: APIRequest) -> APIResponse? {
        if let refusal = refusalOfSender(head) { return refusal }
        let limit = contentLimit(of: head)
        guard let length = head.fields[.contentLength].flatMap(Int.init), length > limit else { return nil }
        return ControlHandler.tooLong(head, limit)
    }

    /// The most bytes of content that the path of a request takes.
    package func contentLimit(of head: APIRequest) -> Int {
        v1?.contentLimit(of: head) ?? ControlHandler.bodyLimit
    }

    /// Whether the response to a request may wait for something that happens, as long as its client does.
    package func mayWait(_ head: APIRequest) -> Bool {
        // As the routes have it: a path may be encoded.
        [["v1", "wait"], ["v1", "events"]].contains(head.segments)
    }

    private func refusalOfSender(_ request: APIRequest) -> APIResponse? {
        switch requestGuard.refusal(of: request) {
        case .crossSite(let reason):
            return ControlHandler.failure(request, 403, "forbidden", reason)
        case .unauthorized:
            let reason =
                request.fields[.authorization] == nil
                ? "a token is needed: Authorization: Bearer TOKEN" : "the token isn't the one of this server"
            var response = ControlHandler.failure(request, 401, "unauthorized", reason)
            response.fields[.wwwAuthenticate] = "Bearer"
            return response
        case nil: return nil
        }
    }

    /// The response to a request. The work of a long content is done one after the other on a thread of its own, so that
    /// other requests don't wait for it.
    package func respond(to request: APIRequest) async -> APIResponse {
        if let refusal = refusalOfSender(request) { return refusal }
        let limit = contentLimit(of: request)
        guard request.body.count <= limit else { return ControlHandler.tooLong(request, limit) }
        guard request.body.count > ControlHandler.shortBody else { return await answer(to: request) }
        return await withTaskExecutorPreference(WorkThread.shared) { await answer(to: request) }
    }

    private func answer(to request: APIRequest) async -> APIResponse {
        if request.path.contains("//") { return ControlHandler.redirect(request) }
        let changes = toxiproxy.proxies.context.journal.notices.changes
        guard let response = await response(to: request) else {
            return APIResponse(404, type: "text/plain; charset=utf-8", text: "404 page not found\n")
        }
        // A refused request may have changed something as well, such as the first proxies of a list.
        guard let keep, request.method != .get, request.method != .head,
            toxiproxy.proxies.context.journal.notices.changes != changes, let problem = await keep(),
            response.status < 400
        else { return response }
        return ControlHandler.failure(request, 500, "not-durable", "the change acts, but it isn't kept: \(problem)")
    }

    private func response(to request: APIRequest) async -> APIResponse? {
        if let response = await v1?.respond(to: request) { return response }
        return await toxiproxy.respond(to: request)
    }

    /// The response to a request whose body is too long, or came too slowly. `request` is without its body.
    package static func unread(_ request: APIRequest, _ status: Int, _ reason: String) -> APIResponse {
        let codes = [408: "timeout", 413: "too-large", 503: "busy"]
        var response = failure(request, status, codes[status] ?? "error", reason)
        response.fields[.connection] = "close"
        if status == 503 { response.fields[.retryAfter] = "1" }
        return response
    }

    /// The response to a request whose body has more than `limit` bytes. `request` is without its body.
    package static func tooLong(_ request: APIRequest, _ limit: Int) -> APIResponse {
        unread(request, 413, "the body has more than \(limit) bytes")
    }

    private static func failure(_ request: APIRequest, _ status: Int, _ code: String, _ text: String) -> APIResponse {
        if V1API.owns(request) { return .problem(status, code, text) }
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
