import EventLoop
import Synchronization
import TransferClient
import Units

/// How far a transfer has come, and how fast it is going: what the live line shows.
final class TransferProgress: Sendable {
    private struct State {
        var received: Int64 = 0
        var total: Int64?
        var resumptions = 0
        var samples: [(moment: Moment, received: Int64)] = []
    }

    /// The time over which the rate is taken.
    private static let span = Duration.seconds(1)
    private let state = Mutex(State())

    /// Takes note of an event of the client.
    func note(_ event: DownloadEvent) {
        let now = MonotonicClock.now
        state.withLock { state in
            switch event {
            case .started(let held):
                state.received = held
            case .progress(let received, let total):
                state.received = received
                state.total = total ?? state.total
            case .resumed:
                state.resumptions += 1
            case .restarted:
                state.received = 0
            case .finished(let summary):
                state.received = summary.bytes
            case .retrying, .redirected, .informed, .waitingForNetwork, .verified:
                break
            }
            state.samples.append((now, state.received))
            let start = now + .seconds(-1)
            while state.samples.count > 2, state.samples[1].moment <= start { state.samples.removeFirst() }
        }
    }

    /// The transfer is at `position` now, which needn't be farther than before.
    func update(_ position: Int64, total: Int64?, isResumed: Bool = false) {
        let now = MonotonicClock.now
        state.withLock { state in
            if position < state.received { state.samples = [] }
            state.received = position
            state.total = total ?? state.total
            if isResumed { state.resumptions += 1 }
            state.samples.append((now, position))
            let start = now + .seconds(-1)
            while state.samples.count > 2, state.samples[1].moment <= start { state.samples.removeFirst() }
        }
    }

    /// The bytes held now.
    var received: Int64 { state.withLock { $0.received } }

    /// "12.3 MiB of 64.0 MiB (19 %)   38.2 Mbit/s   resumed 1 time".
    var text: String {
        let now = MonotonicClock.now
        return state.withLock { state in
            var text = Formatting.size(state.received)
            if let total = state.total, total > 0 {
                text += " of \(Formatting.size(total)) (\(state.received * 100 / total) %)"
            }
            let recent = state.samples.first { now - $0.moment <= Self.span } ?? state.samples.last
            if let recent, now > recent.moment {
                let bytes = max(0, state.received - recent.received)
                text += "   \(Formatting.rate(bytes: bytes, in: max(now - recent.moment, .milliseconds(100))))"
            }
            if state.resumptions > 0 {
                text += "   resumed \(state.resumptions) time\(state.resumptions == 1 ? "" : "s")"
            }
            return text
        }
    }
}
