import FaultProfile
import Foundation
import HTTPTypes
import Testing

@testable import ControlAPI

/// The description of the API against the API.
@Suite(.timeLimit(.minutes(2))) struct OpenAPITests {
    @Test func `the document has each route with its parameters, and no other`() async throws {
        try await withV1 { api in
            let answer = try await api.send(.get, "/v1/openapi.json")
            #expect(answer.status == 200 && answer.string("openapi") == "3.1.0")
            let paths = try #require(answer.value("paths") as? [String: [String: [String: Any]]])
            var described: Set<String> = []
            for (path, operations) in paths {
                for (method, operation) in operations {
                    described.insert("\(method.uppercased()) \(path)")
                    let parameters = (operation["parameters"] as? [[String: Any]]) ?? []
                    let ofPath = parameters.filter { $0["in"] as? String == "path" }
                    let names = ofPath.compactMap { $0["name"] as? String }
                    #expect(names == path.split(separator: "{").dropFirst().map { String($0.prefix { $0 != "}" }) })
                }
            }
            #expect(described == Set(V1API.routes.map { "\($0.method.rawValue) \($0.template)" }))
            #expect(described.count == V1API.routes.count)
        }
    }

    @Test func `every reference has its schema, and every schema is in use`() async throws {
        try await withV1 { api in
            let answer = try await api.send(.get, "/v1/openapi.json")
            let schemas = try #require(answer.value("components.schemas") as? [String: Any])
            let parts = answer.text.split(separator: "#/components/schemas/").dropFirst()
            let used = Set(parts.map { String($0.prefix { $0 != "\"" }) })
            #expect(used == Set(schemas.keys))
        }
    }

    @Test func `faults are described key by key, and errors by status and code`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let answer = try await api.send(.get, "/v1/openapi.json")
            let schemas = try #require(answer.value("components.schemas") as? [String: [String: Any]])
            for kind in FaultKind.Name.allCases { #expect(schemas[kind.rawValue]?["properties"] != nil, "\(kind)") }
            #expect((schemas["latency"]?["properties"] as? [String: Any])?["jitter"] != nil)
            let codes = Set(answer.value("components.schemas.Error.properties.code.enum") as? [String] ?? [])
            let paths = try #require(answer.value("paths") as? [String: [String: [String: Any]]])
            let wrong: [(HTTPRequest.Method, String, String, String)] = [
                (.get, "/v1/proxies/no", "", "/v1/proxies/{name}"), (.post, "/v1/proxies", "{", "/v1/proxies"),
                (.post, "/v1/proxies", #"{"name":"a","upstream":":1"}"#, "/v1/proxies"),
                (.put, "/v1/faults/f", "{}", "/v1/faults/{fault}"), (.delete, "/v1/faults/f", "", "/v1/faults/{fault}"),
                (.post, "/v1/wait", #"{"until":"open > 0","timeout":"1 ms"}"#, "/v1/wait"),
                (.put, "/v1/proxies/a/profile", #""none""#, "/v1/proxies/{name}/profile"),
                (.get, "/v1/journal?x=1", "", "/v1/journal"),
            ]
            for (method, path, body, template) in wrong {
                let error = try await api.send(method, path, body)
                let responses = paths[template]?[method.rawValue.lowercased()]?["responses"] as? [String: Any]
                #expect(responses?["\(error.status)"] != nil, "\(path): \(error.text)")
                #expect(codes.contains(error.string("code")), "\(error.text)")
            }
        }
    }

    @Test func `responses have the members that their schemas require`() async throws {
        try await withV1(story: Story()) { api in
            try await api.create("a", #","profile":"slow""#)
            let client = try await api.client(of: "a")
            let document = try await api.send(.get, "/v1/openapi.json")
            let schemas = try #require(document.value("components.schemas") as? [String: [String: Any]])
            let samples: [(String, String, String)] = [
                ("Proxy", "/v1/proxies/a", ""), ("Clock", "/v1/proxies/a", "clock"),
                ("ListedFault", "/v1/proxies/a", "faults.0"), ("ProxyList", "/v1/proxies", ""),
                ("ListedProfile", "/v1/profiles", "profiles.0"), ("FaultEvent", "/v1/journal", "events.0"),
                ("Journal", "/v1/journal", ""), ("Connection", "/v1/connections", "connections.0"),
                ("ConnectionList", "/v1/connections", ""), ("Story", "/v1/story", ""),
                ("Error", "/v1/proxies/none", ""),
            ]
            for (name, path, place) in samples {
                let answer = try await api.send(.get, path)
                let value = try #require(answer.value(place) as? [String: Any], "\(path) \(place)")
                let schema = try #require(schemas[name])
                let properties = try #require(schema["properties"] as? [String: Any])
                let required = try #require(schema["required"] as? [String])
                #expect(Set(required).isSubset(of: value.keys), "\(name)")
                #expect(Set(value.keys).isSubset(of: properties.keys), "\(name)")
            }
            client.close()
        }
    }
}
