import Units

/// The progress of a transfer over time, in at most a few thousand points.
///
/// Points lie on a time grid whose spacing doubles when there are too many.
public struct ProgressCurve: Hashable, Sendable {
    /// A point of the curve.
    public struct Point: Hashable, Sendable {
        /// The time.
        public var moment: Moment
        /// The bytes of the file that had arrived.
        public var offset: Int64
    }

    /// The most points: 4,096.
    public static let limit = 4_096

    /// The points, in order of time; offsets never fall.
    public private(set) var points: [Point] = []
    private var step: Int64 = 1_000_000

    /// Makes an empty curve.
    public init() {}

    /// Adds a point; neither value may decrease.
    public mutating func reached(_ offset: Int64, at moment: Moment) {
        if let last = points.last, last.moment.nanoseconds / step == moment.nanoseconds / step {
            points[points.count - 1] = Point(moment: moment, offset: offset)
            return
        }
        points.append(Point(moment: moment, offset: offset))
        if points.count > ProgressCurve.limit { coarsen() }
    }

    /// The bytes at `moment`, interpolated linearly.
    public func offset(at moment: Moment) -> Int64 {
        var low = 0
        var high = points.count
        while low < high {
            let middle = (low + high) / 2
            if points[middle].moment <= moment { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return 0 }
        let before = points[low - 1]
        guard low < points.count else { return before.offset }
        let after = points[low]
        let span = (after.moment - before.moment).nanoseconds
        guard span > 0, span <= 4 * step else { return before.offset }
        let part = Double((moment - before.moment).nanoseconds) / Double(span)
        return before.offset + Int64(Double(after.offset - before.offset) * part)
    }

    private mutating func coarsen() {
        while points.count > ProgressCurve.limit / 2 {
            step *= 2
            var kept: [Point] = []
            for point in points {
                if let last = kept.last, last.moment.nanoseconds / step == point.moment.nanoseconds / step {
                    kept[kept.count - 1] = point
                } else {
                    kept.append(point)
                }
            }
            points = kept
        }
    }
}
