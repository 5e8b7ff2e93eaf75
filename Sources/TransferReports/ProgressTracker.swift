import TerminalDisplay
import TransferClient
import Units

/// Tracks a transfer by its events. Time is an argument.
struct ProgressTracker {
    /// The maximum number of resumption offsets kept; beyond it none is shown.
    static let maximumMarks = 256
    /// An immediate retry is shown after this time without progress.
    static let quietRetry = Duration.seconds(1)

    private enum Pause {
        case retry(since: Moment, delay: Duration, reason: String)
        case withoutNetwork
    }

    private var bytes: Int64 = 0
    private var total: Int64?
    private var resumptions = 0
    private var marks: Set<Int64> = []
    private var meter = RateMeter()
    private var pause: Pause?

    /// Records an event. An upload starts at the beginning, until the server tells what it has.
    mutating func note(_ event: TransferEvent, at now: Moment) {
        switch event {
        case .started(let completed, let total, _): begin(at: completed, total: total, now)
        case .progress(let completed, let sent, let total): advance(to: sent ?? completed, total: total, now)
        case .resumed(let offset): resume(at: offset, now)
        case .retrying(let delay, let cause, _): wait(delay, cause.description, now)
        case .restarted: begin(at: 0, total: total, now)
        case .finished(let summary): advance(to: summary.bytes, total: summary.bytes, now)
        case .waitingForNetwork: loseNetwork(at: now)
        case .resumable, .redirected, .interimResponse, .verified: break
        }
    }

    /// The state at `now`.
    func snapshot(at now: Moment) -> ProgressSnapshot {
        var snapshot = ProgressSnapshot()
        (snapshot.bytes, snapshot.total, snapshot.rate) = (bytes, total, meter.bytesPerSecond(at: now))
        snapshot.resumptions = resumptions
        snapshot.marks = marks.count > Self.maximumMarks ? [] : marks.sorted()
        switch pause {
        case .retry(let since, let delay, let reason):
            let left = delay - (now - since)
            if left > .zero {
                snapshot.pause = .waiting(left, reason: reason)
            } else if now - since >= Self.quietRetry {
                snapshot.pause = .trying(reason: reason)
            }
        case .withoutNetwork: snapshot.pause = .withoutNetwork
        case nil: break
        }
        return snapshot
    }

    private mutating func begin(at offset: Int64, total: Int64?, _ now: Moment) {
        (bytes, self.total, marks, pause) = (offset, total, [], nil)
        meter.move(0, at: now)
    }

    private mutating func advance(to position: Int64, total: Int64?, _ now: Moment) {
        meter.move(position - bytes, at: now)
        bytes = position
        self.total = total ?? self.total
        pause = nil
    }

    private mutating func resume(at offset: Int64, _ now: Moment) {
        meter.move(0, at: now)
        (bytes, pause) = (offset, nil)
        guard offset > 0 else { return }
        resumptions += 1
        if marks.count <= Self.maximumMarks { marks.insert(offset) }
    }

    private mutating func wait(_ delay: Duration, _ reason: String, _ now: Moment) {
        if delay > .zero { meter.pause(at: now) }
        pause = .retry(since: now, delay: delay, reason: reason)
    }

    private mutating func loseNetwork(at now: Moment) {
        meter.pause(at: now)
        pause = .withoutNetwork
    }
}
