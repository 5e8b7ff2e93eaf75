import FaultProfile
import OperatingSystem
import ProxyEngine
import Units

extension V1API {
    /// The time limit of a wait that gives none: 10 s.
    static let waitTime = Duration.seconds(10)
    /// The longest time limit of a wait: 10 min.
    static let longestWait = Duration.seconds(600)

    func wait(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let object = try request.object("proxy", "until", "timeout", "baseline")
        guard let text = try object.text("until") else { throw .invalid("missing required field: until") }
        var condition = try WaitCondition(text)
        let proxy = try object.text("proxy")
        var limit = V1API.waitTime
        if let text = try object.text("timeout") {
            guard let time = try? Duration(parsing: text), time <= V1API.longestWait else {
                throw .invalid("timeout is a duration of at most 10 min, such as “10 s”")
            }
            limit = time
        }
        condition.baseline = try await baseline(object, condition, of: proxy)
        let client = request.request.client
        let end = MonotonicClock.now + limit
        switch await waits.wait(for: condition, of: proxy, until: end, client: client) {
        case .held(let value):
            return .json(.object([("held", .flag(true)), ("value", .signed(value))]))
        case .late(let value):
            let name = condition.metric.rawValue
            let isSince = condition.baseline > 0 && value >= condition.baseline
            let since = isSince ? ", \(value - condition.baseline) of it since the baseline" : ""
            throw .waitedInVain("“\(text)” didn't hold within \(limit.text): \(name) is \(value)\(since)")
        case .noProxy: throw .proxyNotFound
        case .over: throw .stopped
        }
    }

    /// The value of the counter from which a condition counts: a number, or the value now.
    private func baseline(
        _ object: V1Object,
        _ condition: WaitCondition,
        of proxy: String?
    ) async throws(ControlError) -> Int64 {
        guard let node = object["baseline"] else { return 0 }
        guard condition.metric.onlyGrows else {
            throw .invalid("\(condition.metric.rawValue) goes up and down, so it has no baseline")
        }
        if case .text("now") = node.value { return condition.metric.value(try await statistics(of: proxy)) }
        guard case .number(let digits) = node.value, let number = Int64(digits), number >= 0 else {
            throw .invalid("baseline is a value of the counter, from 0 on, or “now”; not \(node.shown)")
        }
        return number
    }

    /// The counters of a proxy, or of all together.
    private func statistics(of name: String?) async throws(ControlError) -> Statistics {
        if let name { return await (try proxies.proxy(name)).statistics() }
        return await proxies.onAll { await $0.statistics() }.reduce(into: Statistics()) { $0 += $1 }
    }
}
