import OperatingSystem
import ProxyEngine
import Units

/// The waits of all clients for conditions on counters.
///
/// One task reads the counters for all of them, when the proxies tell that one has changed. Without a wait it does nothing.
actor WaitList {
    /// The shortest time between two readings: 10 ms.
    private static let pause = Duration.milliseconds(10)
    /// The time between two readings while a wait is for bytes, whose counters tell nothing: 20 ms.
    private static let byteInterval = Duration.milliseconds(20)

    /// The end of a wait.
    enum Outcome: Sendable {
        /// The condition holds, with the counter's value.
        case held(Int64)
        /// The time is over, with the counter's value.
        case late(Int64)
        /// There is no such proxy.
        case noProxy
        /// The client is gone, or the server stops.
        case over
    }

    private struct Wait {
        let condition: WaitCondition
        /// The name of the proxy; `nil` for all together.
        let proxy: String?
        let deadline: Moment
        let continuation: CheckedContinuation<Outcome, Never>
    }

    private let proxies: ProxyManager
    private var waits: [Int: Wait] = [:]
    private var lastNumber = 0
    private var reader: Task<Void, Never>?
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// A list without waits.
    init(_ proxies: ProxyManager) {
        self.proxies = proxies
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        proxies.context.journal.notices.observe { [wake] in wake.yield() }
    }

    /// Waits until `condition` holds for a proxy, or for all together, at most until `deadline` and as long as `client` is
    /// there.
    func wait(
        for condition: WaitCondition,
        of proxy: String?,
        until deadline: Moment,
        client: ClientPresence
    ) async -> Outcome {
        lastNumber += 1
        let number = lastNumber
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waits[number] = Wait(
                    condition: condition,
                    proxy: proxy,
                    deadline: deadline,
                    continuation: continuation
                )
                wake.yield()
                if reader == nil { reader = Task { await read() } }
                client.whenGone { Task { await self.end(number, .over) } }
            }
        } onCancel: {
            Task { await self.end(number, .over) }
        }
    }

    private func end(_ number: Int, _ outcome: Outcome) {
        waits.removeValue(forKey: number)?.continuation.resume(returning: outcome)
        // The reader ends with the last wait.
        if waits.isEmpty { wake.yield() }
    }

    /// Reads the counters at each wake until no wait is left.
    private func read() async {
        var wakes = wakes.makeAsyncIterator()
        while !waits.isEmpty {
            await wakes.next(isolation: #isolation)
            await look()
            guard let next = waits.values.map(\.deadline).min() else { break }
            let hasBytes = waits.values.contains { $0.condition.metric == .bytes }
            let left = next - MonotonicClock.now
            let alarm = Task { [wake] in
                let time = hasBytes ? min(left, WaitList.byteInterval) : left
                if (try? await Task.sleep(for: max(.zero, time))) != nil { wake.yield() }
            }
            alarms?.cancel()
            alarms = alarm
            try? await Task.sleep(for: WaitList.pause)
        }
        alarms?.cancel()
        reader = nil
    }

    /// The wake at the next deadline.
    private var alarms: Task<Void, Never>?

    /// Reads the counters once, and ends the waits that are over.
    private func look() async {
        let names = Set(waits.values.map(\.proxy))
        let wanted =
            names.contains(nil) ? proxies.all : names.compactMap { $0 }.compactMap { try? proxies.proxy($0) }
        let read = await proxies.on(wanted) { [wake] proxy in await proxy.statistics { wake.yield() } }
        let byName = Dictionary(zip(wanted.map(\.name), read)) { first, _ in first }
        let total = names.contains(nil) ? read.reduce(into: Statistics()) { $0 += $1 } : Statistics()
        let now = MonotonicClock.now
        // Those that came meanwhile have woken the reader again.
        for (number, wait) in waits where names.contains(wait.proxy) {
            guard !proxies.context.journal.notices.isStopped else {
                end(number, .over)
                continue
            }
            guard let statistics = wait.proxy.map({ byName[$0] }) ?? total else {
                end(number, .noProxy)
                continue
            }
            let value = wait.condition.metric.value(statistics)
            if wait.condition.holds(value) {
                end(number, .held(value))
            } else if now >= wait.deadline {
                end(number, .late(value))
            }
        }
    }
}
