import HTTPTypes

/// A route of the `/v1` API: a method and a path, its documentation and its handler.
struct V1Route: Sendable {
    /// Handles a request that matches.
    typealias Handler = @Sendable (V1API) -> @Sendable (V1Request) async throws(ControlError) -> APIResponse

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
    /// The segments of `template`.
    let segments: [String]

    init(_ method: HTTPRequest.Method, _ template: String, _ summary: String, _ handler: @escaping Handler) {
        self.method = method
        self.template = template
        self.summary = summary
        self.handler = handler
        segments = template.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    /// The route with a parameter of the query.
    func query(_ name: String, _ text: String) -> V1Route {
        var route = self
        route.query.append((name, text))
        return route
    }

    /// The route with a body of a schema.
    func takes(_ schema: String) -> V1Route {
        var route = self
        route.body = schema
        return route
    }

    /// The route with a response of a schema or a media type; without one it gives a proxy.
    func gives(_ content: String?, _ status: Int = 200) -> V1Route {
        var route = self
        route.success = (status, content)
        return route
    }

    /// Whether the body is a profile, a name of one, or a fault.
    var takesProfile: Bool { ["Profile", "ProfileOrName", "Fault"].contains(body) }

    /// The names of the parameters, in order.
    var parameters: [String] { segments.compactMap(V1Route.parameter) }

    /// The parameters of a path by their names; `nil` if the path doesn't match.
    func match(_ path: [String]) -> [String: String]? {
        guard path.count == segments.count else { return nil }
        var values: [String: String] = [:]
        for (segment, text) in zip(segments, path) {
            if let name = V1Route.parameter(segment) {
                guard !text.isEmpty else { return nil }
                values[name] = text
            } else if segment != text {
                return nil
            }
        }
        return values
    }

    private static func parameter(_ segment: String) -> String? {
        segment.hasPrefix("{") ? String(segment.dropFirst().dropLast()) : nil
    }
}

/// A request with the parameters of its route.
struct V1Request: Sendable {
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
