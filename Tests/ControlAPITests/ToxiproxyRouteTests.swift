import HTTPTypes
import Testing

@testable import ControlAPI

/// Routes of Toxiproxy's API.
@Suite struct ToxiproxyRouteTests {
    private static let routes: [(HTTPRequest.Method, String, ToxiproxyRoute)] = [
        (.get, "/version", .version), (.get, "/proxies", .proxies), (.post, "/proxies", .createProxy),
        (.get, "/proxies/a", .proxy("a")), (.post, "/proxies/a", .updateProxy("a")),
        (.patch, "/proxies/a", .updateProxy("a")), (.delete, "/proxies/a", .deleteProxy("a")),
        (.get, "/proxies/a/toxics", .toxics("a")), (.post, "/proxies/a/toxics", .createToxic("a")),
        (.get, "/proxies/a/toxics/t", .toxic("a", "t")), (.post, "/proxies/a/toxics/t", .updateToxic("a", "t")),
        (.patch, "/proxies/a/toxics/t", .updateToxic("a", "t")),
        (.delete, "/proxies/a/toxics/t", .deleteToxic("a", "t")), (.post, "/reset", .reset),
        (.post, "/populate", .populate), (.get, "/proxies/db%3A5432", .proxy("db:5432")),
        (.delete, "/proxies/a%2Fb/toxics/c%2Fd", .deleteToxic("a/b", "c/d")),
    ]

    @Test(arguments: routes.indices)
    func `a method and a path have a route`(index: Int) throws {
        let (method, path, route) = ToxiproxyRouteTests.routes[index]
        let segments = try #require(APIRequest(method: method, path: path).segments)
        #expect(ToxiproxyRoute.match(method, segments) == .route(route))
    }

    @Test(arguments: [
        "/", "/proxies/", "/nothing", "/proxies/a/b", "/proxies%2Fa", "/proxies/a/toxics/t/x", "/V1",
    ])
    func `other paths have none`(path: String) throws {
        let segments = try #require(APIRequest(method: .get, path: path).segments)
        #expect(ToxiproxyRoute.match(.get, segments) == .none)
    }

    @Test(arguments: [HTTPRequest.Method.head, .options, .put, .delete])
    func `a wrong method is known as such`(method: HTTPRequest.Method) {
        #expect(ToxiproxyRoute.match(method, ["proxies"]) == .wrongMethod)
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
