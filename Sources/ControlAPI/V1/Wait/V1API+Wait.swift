import EventLoop
import FaultProfile
import Units

extension V1API {
    /// The time limit of a wait that gives none: 10 s.
    static let waitTime = Duration.seconds(10)
    /// The longest time limit of a wait: 10 min.
    static let longestWait = Duration.seconds(600)

    func wait(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let object = try request.object("proxy", "until", "timeout")
        guard let text = try object.text("until") else { throw .invalid("missing required field: until") }
        let (condition, proxy) = (try WaitCondition(text), try object.text("proxy"))
        var limit = V1API.waitTime
        if let text = try object.text("timeout") {
            guard let time = try? Duration(parsing: text), time <= V1API.longestWait else {
                throw .invalid("timeout is a duration of at most 10 min, such as “10 s”")
            }
            limit = time
        }
        let client = request.request.client
        let end = MonotonicClock.now + limit
        switch await waits.wait(for: condition, of: proxy, until: end, client: client) {
        case .held(let value):
            return .json(.object([("held", .flag(true)), ("value", .signed(value))]))
        case .late(let value):
            let name = condition.metric.rawValue
            throw .waitedInVain("“\(text)” didn't hold within \(limit.text): \(name) is \(value)")
        case .noProxy: throw .proxyNotFound(proxy ?? "")
        case .over: throw .stopped
        }
    }
}
