import FaultProfile
import HTTPTypes
import StreamReading

/// Squall's own HTTP API, and the page that uses it.
package struct V1API: Sendable {
    let proxies: ProxyManager
    let profiles: ProfileStore
    let story: Story?
    let queue: QueueSource?
    let streams = StreamSlots()
    let samples = SampleCache()
    let waits: WaitList

    /// The API over `proxies`, which can have the profiles of `profiles`, with the story of a demo and a queue of transfers if
    /// there are any.
    package init(proxies: ProxyManager, profiles: ProfileStore, story: Story? = nil, queue: QueueSource? = nil) {
        (self.proxies, self.queue) = (proxies, queue)
        waits = WaitList(proxies)
        self.profiles = profiles
        self.story = story
    }

    /// The response to a request; `nil` if its path isn't one of the API's.
    func respond(to request: APIRequest) async -> APIResponse? {
        guard V1API.owns(request) else { return nil }
        guard let path = request.segments else { return .problem(400, "invalid", "the path can't be decoded") }
        let matches = APIRoute.matching(path, in: V1API.routes)
        guard !matches.isEmpty else {
            let known = "GET /v1/openapi.json lists them"
            return .problem(404, "not-found", "there is no path \(request.path.quoted): \(known)")
        }
        // The server leaves out the content after HEAD (RFC 9110, section 9.3.2).
        let match = matches.first { route, _ in
            route.method == request.method || route.hasHead && request.method == .head
        }
        guard let (route, parameters) = match else {
            let methods = matches.map { $0.route.hasHead ? "GET, HEAD" : $0.route.method.rawValue }
                .joined(separator: ", ")
            var response = APIResponse.problem(405, "method-not-allowed", "the methods of this path are \(methods)")
            response.fields[.allow] = methods
            return response
        }
        do throws(ControlError) {
            // The page's address and Prometheus' may have parameters of others.
            if request.path.hasPrefix("/v1/") { try route.check(request) }
            return try await route.handler(self)(RoutedRequest(request: request, parameters: parameters))
        } catch {
            return .problem(error)
        }
    }

    /// The most bytes of content that the path of a request takes: those of a profile where it takes one.
    func contentLimit(of request: APIRequest) -> Int {
        guard V1API.owns(request), let path = request.segments else { return ControlHandler.bodyLimit }
        let match = APIRoute.matching(path, in: V1API.routes).first { $0.route.method == request.method }
        return match?.route.takesProfile == true ? ProfileLimits.fileBytes : ControlHandler.bodyLimit
    }

    static func owns(_ request: APIRequest) -> Bool {
        request.path.hasPrefix("/v1/") || request.path == "/v1" || request.path == "/" || request.path == "/metrics"
    }
}

extension APIResponse {
    /// An error (RFC 9457).
    static func problem(_ status: Int, _ code: String, _ detail: String, _ problems: [Problem] = []) -> APIResponse {
        var members: [(key: String, value: JSONText)] = [
            ("type", .text("about:blank")),
            ("title", .text(ReasonPhrase.of(status))),
            ("status", .signed(Int64(status))),
            ("detail", .text(detail)),
            ("code", .text(code)),
        ]
        if !problems.isEmpty { members.append(("problems", .array(problems.map(\.json)))) }
        var response = APIResponse.json(.object(members), status: status)
        response.fields[.contentType] = "application/problem+json"
        return response
    }

    static func problem(_ error: ControlError) -> APIResponse {
        problem(error.status, error.code, error.text, error.problems)
    }
}

extension Problem {
    /// The problem as a member of responses.
    var json: JSONText {
        .object([
            ("file", .text(file)), ("line", .signed(Int64(line))), ("column", .signed(Int64(column))),
            ("message", .text(what)), ("remedy", .text(remedy)),
        ])
    }
}
