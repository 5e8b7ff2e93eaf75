import HTTPTypes
import Units

/// A route of an API: a method and a path, its documentation and its handler.
struct APIRoute<API: Sendable>: Sendable {
    /// Handles a request that matches.
    typealias Handler = @Sendable (API) -> @Sendable (RoutedRequest) async throws(ControlError) -> APIResponse

    let method: HTTPRequest.Method
    /// The path; a segment in braces is a parameter.
    let template: String
    /// A line of documentation.
    let summary: String
    let handler: Handler
    /// The parameters of the query, with what they mean.
    private(set) var query: [(name: String, text: String)] = []
    /// The name of the schema of the body; `nil` for none.
    private(set) var body: String?
    /// The status of success, and the name of the schema of its content or its media type; `nil` for none.
    private(set) var success: (status: Int, content: String?) = (200, "Proxy")
    private var failures: Set<Int> = []
    let segments: [String]

    init(_ method: HTTPRequest.Method, _ template: String, _ summary: String, _ handler: @escaping Handler) {
        self.method = method
        self.template = template
        self.summary = summary
        self.handler = handler
        segments = template.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    /// A route that no document describes.
    init(_ method: HTTPRequest.Method, _ template: String, _ handler: @escaping Handler) {
        self.init(method, template, "", handler)
    }

    func query(_ name: String, _ text: String) -> APIRoute { with { $0.query.append((name, text)) } }

    func takes(_ schema: String) -> APIRoute { with { $0.body = schema } }

    /// The route with a response of a schema or a media type; without one it gives a proxy.
    func gives(_ content: String?, _ status: Int = 200) -> APIRoute { with { $0.success = (status, content) } }

    /// The route with further statuses of errors; see `errors`.
    func fails(_ statuses: Int...) -> APIRoute { with { $0.failures.formUnion(statuses) } }

    private func with(_ change: (inout APIRoute) -> Void) -> APIRoute {
        var route = self
        change(&route)
        return route
    }

    /// The statuses of errors, in order: 401 and 403 of every route, 404 with parameters, 400 with a query or a body, and 413
    /// with a body.
    var errors: [Int] {
        var statuses = failures.union([401, 403])
        if !parameters.isEmpty { statuses.insert(404) }
        if !query.isEmpty || body != nil { statuses.insert(400) }
        if body != nil { statuses.insert(413) }
        return statuses.sorted()
    }

    /// Whether the body is a profile, a name of one, or a fault.
    var takesProfile: Bool { ["Profile", "ProfileOrName", "Fault"].contains(body) }

    /// Whether there is a response to HEAD: not of a stream, whose length isn't known.
    var hasHead: Bool { method == .get && !["text/event-stream", V1API.captureType].contains(success.content) }

    /// The names of the parameters, in order.
    var parameters: [String] { segments.compactMap(APIRoute.parameter) }

    /// Those of `routes` that have a path, each with the parameters in it.
    static func matching(
        _ path: [String],
        in routes: [APIRoute]
    ) -> [(route: APIRoute, parameters: [String: String])] {
        routes.compactMap { route in route.match(path).map { (route, $0) } }
    }

    /// The parameters of a path by their names; `nil` if the path doesn't match.
    private func match(_ path: [String]) -> [String: String]? {
        guard path.count == segments.count else { return nil }
        var values: [String: String] = [:]
        for (segment, text) in zip(segments, path) {
            if let name = APIRoute.parameter(segment) {
                guard !text.isEmpty else { return nil }
                values[name] = text
            } else if segment != text {
                return nil
            }
        }
        return values
    }

    /// Throws if the query has a parameter that the route doesn't have, one twice, or a value that can't be decoded, and if
    /// there is a body that the route doesn't take.
    func check(_ request: APIRequest) throws(ControlError) {
        guard body != nil || request.body.allSatisfy(\.isJSONSpace) else {
            throw .invalid("this request takes no body: leave it out")
        }
        var seen: Set<String> = []
        for (name, value) in request.parameters {
            guard query.contains(where: { $0.name == name }) else {
                let known = query.map(\.name).joined(separator: ", ")
                let those = known.isEmpty ? "this request has none" : "those of this request are \(known)"
                throw .invalid("the query parameter \(name.quoted) is unknown; \(those)")
            }
            guard seen.insert(name).inserted else { throw .invalid("the query parameter \(name) is there twice") }
            guard value != nil else { throw .invalid("the value of the query parameter \(name) can't be decoded") }
        }
    }

    private static func parameter(_ segment: String) -> String? {
        segment.hasPrefix("{") ? String(segment.dropFirst().dropLast()) : nil
    }
}

/// A request with the parameters of its route.
struct RoutedRequest: Sendable {
    let request: APIRequest
    let parameters: [String: String]

    /// The value of a parameter of the path.
    subscript(name: String) -> String { parameters[name] ?? "" }

    /// A whole number in the query, within `range`; `fallback` if it is absent.
    func number(_ name: String, in range: ClosedRange<Int>, fallback: Int) throws(ControlError) -> Int {
        guard let text = request.parameter(name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid("\(name) is a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
