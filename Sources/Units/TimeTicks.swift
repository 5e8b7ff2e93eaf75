/// The tick marks of a time axis.
package struct TimeTicks {
    /// The maximum number of ticks, not counting the one at zero.
    private static let maximumTicks: Int64 = 8
    /// The allowed tick intervals, in nanoseconds.
    private static let steps: [Int64] = {
        let fine = stride(from: 5, through: 8, by: 1).flatMap { power in
            let unit = (0..<power).reduce(Int64(1)) { product, _ in product * 10 }
            return [unit, 2 * unit, 5 * unit]
        }
        let seconds: [Int64] = [1, 2, 5, 10, 20, 30]
        let minutes: [Int64] = [1, 2, 5, 10, 20, 30]
        let hours: [Int64] = [1, 2, 4, 6, 12, 24]
        return fine + (seconds + minutes.map { $0 * 60 } + hours.map { $0 * 3_600 }).map { $0 * 1_000_000_000 }
    }()

    private let step: Int64
    /// The ticks, from zero on.
    package let moments: [Moment]

    /// The ticks of an axis that ends at `length`, which is above zero.
    package init(upTo length: Duration) {
        let end = max(1, length.nanoseconds)
        let longest = TimeTicks.steps[TimeTicks.steps.count - 1]
        // Beyond the longest interval, uses a multiple of it that keeps the number of ticks within the limit.
        let step =
            TimeTicks.steps.first { end / $0 <= TimeTicks.maximumTicks } ?? (end / longest / TimeTicks.maximumTicks + 1)
            * longest
        self.step = step
        moments = (0...end / step).map { Moment(nanoseconds: $0 * step) }
    }

    /// A tick label in the unit of the interval: "90 s" for intervals of 30 s, "4 min" for two minutes.
    package func text(_ moment: Moment) -> String {
        let units: [(name: String, nanoseconds: Int64)] = [
            ("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000),
        ]
        if moment.nanoseconds == 0 { return "0" }
        for unit in units where step >= unit.nanoseconds {
            return "\(moment.nanoseconds / unit.nanoseconds) \(unit.name)"
        }
        return (moment - .zero).text
    }
}
