import HTTPTypes
import Testing

@testable import ControlAPI

/// Routes of Toxiproxy's API.
@Suite struct ToxiproxyRouteTests {
    private typealias Route = APIRoute<ToxiproxyAPI>

    private static let one = "/proxies/{name}"
    private static let toxic = "/proxies/{name}/toxics/{toxic}"

    private static let routes: [(method: HTTPRequest.Method, path: String, template: String, names: [String])] = [
        (.get, "/version", "/version", []), (.get, "/proxies", "/proxies", []), (.post, "/proxies", "/proxies", []),
        (.get, "/proxies/a", one, ["a"]), (.post, "/proxies/a", one, ["a"]), (.patch, "/proxies/a", one, ["a"]),
        (.delete, "/proxies/a", one, ["a"]), (.get, "/proxies/a/toxics", "/proxies/{name}/toxics", ["a"]),
        (.post, "/proxies/a/toxics", "/proxies/{name}/toxics", ["a"]),
        (.get, "/proxies/a/toxics/t", toxic, ["a", "t"]), (.post, "/proxies/a/toxics/t", toxic, ["a", "t"]),
        (.patch, "/proxies/a/toxics/t", toxic, ["a", "t"]), (.delete, "/proxies/a/toxics/t", toxic, ["a", "t"]),
        (.post, "/reset", "/reset", []), (.post, "/populate", "/populate", []),
        (.get, "/proxies/db%3A5432", one, ["db:5432"]),
        (.delete, "/proxies/a%2Fb/toxics/c%2Fd", toxic, ["a/b", "c/d"]),
    ]

    private static func matches(_ path: String) throws -> [(route: Route, parameters: [String: String])] {
        let segments = try #require(APIRequest(method: .get, path: path).segments)
        return Route.matching(segments, in: ToxiproxyAPI.routes)
    }

    @Test(arguments: routes.indices)
    func `a method and a path have a route`(index: Int) throws {
        let (method, path, template, names) = ToxiproxyRouteTests.routes[index]
        let routes = try ToxiproxyRouteTests.matches(path).filter { $0.route.method == method }
        #expect(routes.map(\.route.template) == [template])
        #expect(["name", "toxic"].compactMap { routes.first?.parameters[$0] } == names)
    }

    @Test(arguments: [
        "/", "/proxies/", "/nothing", "/proxies/a/b", "/proxies%2Fa", "/proxies/a/toxics/t/x", "/V1",
    ])
    func `other paths have none`(path: String) throws {
        #expect(try ToxiproxyRouteTests.matches(path).isEmpty)
    }

    @Test(arguments: [HTTPRequest.Method.head, .options, .put, .delete])
    func `a wrong method is known as such`(method: HTTPRequest.Method) throws {
        let matches = try ToxiproxyRouteTests.matches("/proxies")
        #expect(!matches.isEmpty)
        #expect(!matches.contains { $0.route.method == method })
    }

    @Test(arguments: ["/%zz", "/%4", "/%ff", "x"])
    func `a malformed path has no segments`(path: String) {
        #expect(APIRequest(method: .get, path: path).segments == nil)
    }

    @Test func `parameters of a query are decoded`() {
        let request = APIRequest(method: .get, path: "/", query: "a=1%202&b&c=x+y&d=%")
        #expect(request.parameter("a") == "1 2")
        #expect(request.parameter("b") == "")
        #expect(request.parameter("c") == "x y")
        #expect(request.parameter("d") == nil)
        #expect(request.parameter("e") == nil)
    }
}
