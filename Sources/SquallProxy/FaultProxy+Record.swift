internal import FaultPlan
internal import ProxyEngine
internal import Synchronization
internal import Units

extension FaultProxy {
    /// The events of faults so far, oldest first: the first 100,000. That a stream isn't HTTP, so that faults of its messages
    /// can't act, is among the `notices`.
    ///
    /// All events are among them whose effects a client or a server could notice before the call.
    public var faults: [FaultEvent] {
        get async {
            await settle()
            return recorder.entries.filter { $0.effect.reason == nil }.map { FaultEvent($0, since: proxy.started) }
        }
    }

    /// The counters since the start. Those of closed connections are included.
    public var statistics: ProxyStatistics { get async { ProxyStatistics(await proxy.statistics()) } }

    /// The open connections in the order of their numbers: the first 1,000.
    public var connections: [ProxyConnection] { get async { await proxy.connections().map(ProxyConnection.init) } }

    /// Problems that aren't faults of the profile, such as an unreachable server: the first 100 different ones.
    public var notices: [String] { noticeList.all }

    /// The journal as JSON Lines, as `squall run --journal` writes it; `squall replay` reads it.
    public var journal: String {
        get async {
            await settle()
            return recorder.text(header: header)
        }
    }

    /// Waits until every loop has finished what it was doing: an event is recorded in the same turn of a loop as its
    /// effect, but perhaps after it.
    private func settle() async { _ = await proxy.statistics() }

    package var hasHadFaults: Bool { following.withLock { $0.hasHadFaults } }
}

/// Problems of a proxy, each once.
final class NoticeList: Sendable {
    private static let limit = 100
    private let stored = Mutex<[String]>([])

    func add(_ text: String) {
        stored.withLock { stored in
            if stored.count < NoticeList.limit, !stored.contains(text) { stored.append(text) }
        }
    }

    var all: [String] { stored.withLock { $0 } }
}
