import FaultProfile
import OperatingSystem
import ProxyEngine
import Units

/// Samples of all proxies, which streams share: the work doesn't grow with their number.
actor SampleCache {
    /// The age up to which a sample is handed out again: 50 ms, below the shortest interval of a stream.
    private static let longestAge = Duration.milliseconds(50)

    private var last: (text: String, moment: Moment)?
    private var running: Task<String, Never>?

    func sample(of proxies: ProxyManager) async -> String {
        if let last, MonotonicClock.now - last.moment < SampleCache.longestAge { return last.text }
        if let running { return await running.value }
        let task = Task { await SampleCache.text(of: proxies) }
        running = task
        let text = await task.value
        last = (text, MonotonicClock.now)
        running = nil
        return text
    }

    private static func text(of proxies: ProxyManager) async -> String {
        let list = await proxies.onAll { proxy -> JSONText in
            let (state, statistics) = (proxy.state, await proxy.statistics())
            let phase = state.running?.clock.phase
            return .object([
                ("name", .text(proxy.name)), ("enabled", .flag(state.isEnabled)),
                ("open", .signed(Int64(statistics.open))), ("accepted", .number(statistics.accepted)),
                ("failed", .number(statistics.failed)), ("up", .signed(statistics.upstreamBytes)),
                ("down", .signed(statistics.downstreamBytes)), ("phase", phase.map(JSONText.text) ?? .null),
                ("faulted", .number(statistics.faultEvents.values.reduce(0, +))),
            ])
        }
        let time = JournalClock.shared.time(of: MonotonicClock.now)
        return JSONText.object([("time", .text(time)), ("proxies", .array(list))]).compact
    }
}
