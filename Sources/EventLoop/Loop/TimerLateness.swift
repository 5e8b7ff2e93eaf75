import Units

/// A histogram of the lateness of a loop's timers: how long a loop is held up by other work.
public struct TimerLateness: Hashable, Sendable {
    /// The upper bounds of the buckets, included; one more bucket has no bound.
    public static let bounds: [Duration] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000].map(Duration.milliseconds)
    private static let limits = bounds.map(\.nanoseconds)

    /// The number of timers in each bucket, one more than `bounds`.
    public private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
    private var totalNanoseconds: Int64 = 0
    private var longestNanoseconds: Int64 = 0

    /// An empty histogram.
    public init() {}

    /// The number of timers.
    public var count: UInt64 { counts.reduce(0, +) }
    /// The lateness of all timers together.
    public var total: Duration { .nanoseconds(totalNanoseconds) }
    /// The longest lateness.
    public var longest: Duration { .nanoseconds(longestNanoseconds) }

    /// Counts a timer that fired `nanoseconds` after its moment.
    mutating func note(_ nanoseconds: Int64) {
        totalNanoseconds = totalNanoseconds.addingSaturated(nanoseconds)
        longestNanoseconds = max(longestNanoseconds, nanoseconds)
        // Nearly all of them.
        guard nanoseconds > 1_000_000 else {
            counts[0] += 1
            return
        }
        let limits = TimerLateness.limits
        counts[limits.firstIndex { nanoseconds <= $0 } ?? limits.count] += 1
    }

    /// Adds the timers of another loop.
    public static func += (left: inout TimerLateness, right: TimerLateness) {
        for bucket in left.counts.indices { left.counts[bucket] += right.counts[bucket] }
        left.totalNanoseconds = left.totalNanoseconds.addingSaturated(right.totalNanoseconds)
        left.longestNanoseconds = max(left.longestNanoseconds, right.longestNanoseconds)
    }
}

extension EventLoop {
    /// The lateness of the timers that have fired. Timers that were set to a past moment aren't counted.
    public var timerLateness: TimerLateness {
        preconditionOnLoop()
        return timers.lateness
    }
}

extension EventLoopGroup {
    /// The lateness of the timers of each loop, in the order of the loops; empty for a loop that has ended.
    public func timerLateness() async -> [TimerLateness] {
        var result: [TimerLateness] = []
        for loop in loops {
            result.append((try? await loop.run(beyondLimit: true) { loop.timerLateness }) ?? TimerLateness())
        }
        return result
    }
}
