import HTTPTypes

/// A route of Toxiproxy's API.
enum ToxiproxyRoute: Equatable {
    case version
    case proxies
    case createProxy
    case proxy(String)
    case updateProxy(String)
    case deleteProxy(String)
    case toxics(String)
    case createToxic(String)
    case toxic(String, String)
    case updateToxic(String, String)
    case deleteToxic(String, String)
    case reset
    case populate

    /// The route of a request.
    enum Match: Equatable {
        case route(ToxiproxyRoute)
        /// A path of the API, with a method that it doesn't have.
        case wrongMethod
        case none
    }

    /// The route of `method` and the decoded segments of a path.
    static func match(_ method: HTTPRequest.Method, _ segments: [String]) -> Match {
        guard !segments.dropFirst().contains("") else { return .none }
        let byMethod: [HTTPRequest.Method: ToxiproxyRoute]
        switch (segments.count, segments.first) {
        case (1, "version"): byMethod = [.get: .version]
        case (1, "reset"): byMethod = [.post: .reset]
        case (1, "populate"): byMethod = [.post: .populate]
        case (1, "proxies"): byMethod = [.get: .proxies, .post: .createProxy]
        case (2, "proxies"):
            let name = segments[1]
            byMethod = [
                .get: .proxy(name), .post: .updateProxy(name), .patch: .updateProxy(name), .delete: .deleteProxy(name),
            ]
        case (3, "proxies") where segments[2] == "toxics":
            byMethod = [.get: .toxics(segments[1]), .post: .createToxic(segments[1])]
        case (4, "proxies") where segments[2] == "toxics":
            let (proxy, toxic) = (segments[1], segments[3])
            byMethod = [
                .get: .toxic(proxy, toxic), .post: .updateToxic(proxy, toxic), .patch: .updateToxic(proxy, toxic),
                .delete: .deleteToxic(proxy, toxic),
            ]
        default: return .none
        }
        return byMethod[method].map { .route($0) } ?? .wrongMethod
    }
}
