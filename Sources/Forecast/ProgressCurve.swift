import Units

/// How far a transfer had come at which time, in no more than a few thousand points.
///
/// Points lie on a grid of time that becomes coarser, by doubling, whenever there are too many.
public struct ProgressCurve: Hashable, Sendable {
    /// A point of the curve.
    public struct Point: Hashable, Sendable {
        /// When.
        public var moment: Moment
        /// The bytes of the file that had arrived by then.
        public var offset: Int64
    }

    /// The points that are kept at most: 4,096.
    public static let limit = 4_096

    /// The points, in order of time; offsets never fall.
    public private(set) var points: [Point] = []
    private var step: Int64 = 1_000_000

    /// A curve without a point.
    public init() {}

    /// The transfer has come to `offset` at `moment`, neither of them less than before.
    public mutating func reached(_ offset: Int64, at moment: Moment) {
        if let last = points.last, last.moment.nanoseconds / step == moment.nanoseconds / step {
            points[points.count - 1] = Point(moment: moment, offset: offset)
            return
        }
        points.append(Point(moment: moment, offset: offset))
        if points.count > ProgressCurve.limit { coarsen() }
    }

    /// The bytes that had arrived at `moment`, on a straight line between two points that are near each other.
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
