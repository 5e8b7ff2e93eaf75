import FaultProfile
import HTTPTypes
import ProfileDocuments
import StreamReading

extension V1API {
    func openAPI(_ request: RoutedRequest) async throws(ControlError) -> APIResponse { .json(OpenAPIDocument.json) }
}

/// The description of the API (OpenAPI 3.1), built from its routes.
enum OpenAPIDocument {
    private typealias Members = [(key: String, value: JSONText)]

    /// The document.
    static var json: JSONText {
        let info: Members = [("title", .text("Squall's control API")), ("version", .text("1"))]
        let token: Members = [("type", .text("http")), ("scheme", .text("bearer"))]
        let components: Members = [
            ("schemas", .object(OpenAPISchemas.all + faults)),
            ("securitySchemes", .object([("token", .object(token))])),
        ]
        // A server without a token asks for none.
        let security: [JSONText] = [.object([]), .object([("token", .array([]))])]
        return .object([
            ("openapi", .text("3.1.0")), ("info", .object(info)), ("paths", .object(paths)),
            ("components", .object(components)), ("security", .array(security)),
        ])
    }

    /// What stands before the name of a schema in a reference.
    private static let prefix = "#/components/schemas/"

    /// The schemas of faults and profiles, which are those of a profile's file.
    private static let faults = ProfileSchema.definitions(of: ["fault", "profile"], under: prefix)

    private static var paths: Members {
        var templates: [String] = []
        for route in V1API.routes where !templates.contains(route.template) { templates.append(route.template) }
        return templates.map { template in
            let routes = V1API.routes.filter { $0.template == template }
            return (template, .object(routes.map { ($0.method.rawValue.lowercased(), operation($0)) }))
        }
    }

    private static func operation(_ route: APIRoute<V1API>) -> JSONText {
        var members: Members = [("summary", .text(route.summary))]
        let inPath = route.parameters.map { parameter($0, "path", nil) }
        let parameters = inPath + route.query.map { parameter($0.name, "query", $0.text) }
        if !parameters.isEmpty { members.append(("parameters", .array(parameters))) }
        if let body = route.body {
            let content = content("application/json", body)
            members.append(("requestBody", .object([("required", .flag(true)), ("content", content)])))
        }
        var responses: Members = [(String(route.success.status), success(route.success.content))]
        for status in route.errors { responses.append((String(status), error(ReasonPhrase.of(status)))) }
        members.append(("responses", .object(responses + [("default", error("An error (RFC 9457)."))])))
        return .object(members)
    }

    private static func error(_ description: String) -> JSONText {
        .object([("description", .text(description)), ("content", content("application/problem+json", "Error"))])
    }

    private static func success(_ content: String?) -> JSONText {
        var members: Members = [("description", .text("Success."))]
        if let content {
            let isType = content.contains("/")
            members.append(("content", self.content(isType ? content : "application/json", isType ? nil : content)))
        }
        return .object(members)
    }

    private static func content(_ type: String, _ schema: String?) -> JSONText {
        let members: Members = schema.map { [("schema", reference($0))] } ?? []
        return .object([(type, .object(members))])
    }

    private static func parameter(_ name: String, _ place: String, _ text: String?) -> JSONText {
        var members: Members = [("name", .text(name)), ("in", .text(place))]
        if let text { members.append(("description", .text(text))) }
        if place == "path" { members.append(("required", .flag(true))) }
        members.append(("schema", .object([("type", .text("string"))])))
        return .object(members)
    }

    static func reference(_ name: String) -> JSONText { .object([("$ref", .text(prefix + name))]) }
}
