/// The tick marks of an axis of rates: round numbers of bits per second.
package struct RateTicks {
    /// The ticks above zero, in bits per second.
    package let rates: [Double]
    /// The unit of every label and its bits per second.
    private let unit: (name: String, rate: Double)

    /// The ticks of an axis that ends at `highest`, at intervals that fit into `extent` at most `count` times.
    package init(upTo highest: Double, extent: Double, count: Int) {
        let step = RoundNumber.step(atLeast: max(1, extent / Double(max(1, count))))
        var rates: [Double] = []
        while rates.count < count, Double(rates.count + 1) * step <= highest {
            rates.append(Double(rates.count + 1) * step)
        }
        self.init(rates, step: step)
    }

    /// The ticks of an axis whose last tick is `highest` or the next one above it, `count` at most.
    package init(covering highest: Double, count: Int) {
        let step = RoundNumber.step(atLeast: max(1, highest / Double(max(1, count))))
        let last = max(1, Int((highest / step - 1e-9).rounded(.up)))
        self.init((1...last).map { Double($0) * step }, step: step)
    }

    private init(_ rates: [Double], step: Double) {
        self.rates = rates
        let units = [("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)]
        unit = units.first { $0.1 <= max(step, rates.last ?? 0) } ?? ("bit/s", 1)
    }

    /// "20 Mbit/s", "0.5 Mbit/s": a tick in the unit that all of them share.
    package func text(_ rate: Double) -> String {
        "\(RoundNumber.text(rate / unit.rate)) \(unit.name)"
    }
}

/// Numbers that people count in: 1, 2 and 5 times a power of ten.
enum RoundNumber {
    /// "20", "0.5": a number with a digit behind the point unless that is zero.
    static func text(_ number: Double) -> String {
        let tenths = Int64((number * 10).rounded())
        return "\(tenths / 10)\(tenths.isMultiple(of: 10) ? "" : ".\(tenths % 10)")"
    }

    /// The least round number that is `least` or more; 1 or more.
    static func step(atLeast least: Double) -> Double {
        var power = 1.0
        while power * 10 <= least { power *= 10 }
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= least } ?? 10 * power
    }
}
