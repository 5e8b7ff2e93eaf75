import Units

/// The bytes of a transfer over time, in at most `limit` points.
struct ThroughputHistory: Hashable {
    /// The most points; beyond it every second one is dropped.
    static let limit = 4_096
    /// The shortest time over which a rate is measured, unless a column is shorter.
    static let shortest = Duration.milliseconds(100)

    private struct Point: Hashable {
        var time: Duration
        var bytes: Int64
    }

    private var points = [Point(time: .zero, bytes: 0)]
    /// When the last byte passed.
    private(set) var movedAt = Duration.zero

    /// The time of the last point.
    var end: Duration { points[points.count - 1].time }
    /// The number of points.
    var count: Int { points.count }
    /// The time since the last byte passed.
    var quiet: Duration { end - movedAt }

    /// Adds the number of bytes at `time`, which is later than the last one; a smaller number is taken for the last one.
    mutating func reached(_ bytes: Int64, at time: Duration) {
        let last = points[points.count - 1]
        guard time > last.time else { return }
        if bytes > last.bytes { movedAt = time }
        points.append(Point(time: time, bytes: max(bytes, last.bytes)))
        guard points.count > Self.limit else { return }
        let newest = points[points.count - 1]
        points = points.indices.filter { $0.isMultiple(of: 2) }.map { points[$0] }
        if points[points.count - 1] != newest { points.append(newest) }
    }

    /// The mean rate from `begin` until `end`, in bytes per second.
    func rate(from begin: Duration, until end: Duration) -> Double {
        let seconds = Double((end - begin).nanoseconds) / 1e9
        guard seconds > 0 else { return 0 }
        return (bytes(at: end) - bytes(at: begin)) / seconds
    }

    /// The mean rates of `count` equal parts of `span`, in bytes per second; without those that haven't begun.
    func rates(_ count: Int, over span: Duration) -> [Double] {
        var rates: [Double] = []
        for index in 0..<max(0, count) {
            let begin = span * index / count
            let stop = span * (index + 1) / count
            guard end >= min(stop, begin + Self.shortest) else { break }
            rates.append(rate(from: begin, until: min(stop, end)))
        }
        return rates
    }

    /// The bytes at `time`, interpolated.
    private func bytes(at time: Duration) -> Double {
        var low = 0
        var high = points.count
        while low < high {
            let middle = (low + high) / 2
            if points[middle].time <= time { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return 0 }
        let before = points[low - 1]
        guard low < points.count else { return Double(before.bytes) }
        let after = points[low]
        let part = Double((time - before.time).nanoseconds) / Double((after.time - before.time).nanoseconds)
        return Double(before.bytes) + Double(after.bytes - before.bytes) * part
    }
}
