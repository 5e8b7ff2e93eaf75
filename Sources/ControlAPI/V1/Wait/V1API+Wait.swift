import EventLoop
import FaultProfile
import ProxyEngine
import Units

extension V1API {
    /// The time limit of a wait that gives none: 10 s.
    static let waitTime = Duration.seconds(10)
    /// The longest time limit of a wait: 10 min.
    static let longestWait = Duration.seconds(600)
    /// The time between two looks at the counters: 20 ms.
    static let waitInterval = Duration.milliseconds(20)

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
        let end = MonotonicClock.now + limit
        while true {
            let value = condition.metric.value(try await statistics(of: proxy))
            if condition.holds(value) {
                return .json(.object([("held", .flag(true)), ("value", .signed(value))]))
            }
            let left = end - MonotonicClock.now
            guard left > .zero else {
                let name = condition.metric.rawValue
                throw .waitedInVain("“\(text)” didn't hold within \(limit.text): \(name) is \(value)")
            }
            guard !journal.notices.isStopped, !Task.isCancelled else { throw .stopped }
            try? await Task.sleep(for: min(left, V1API.waitInterval))
        }
    }

    /// The counters of a proxy, or of all together.
    private func statistics(of name: String?) async throws(ControlError) -> Statistics {
        if let name { return await (try proxies.proxy(name)).statistics() }
        return await proxies.onAll { await $0.statistics() }.reduce(into: Statistics()) { $0 += $1 }
    }
}
