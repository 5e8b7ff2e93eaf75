/// The tick marks of an axis of rates: round numbers of bits per second.
struct RateTicks {
    /// The ticks above zero, in bits per second.
    let rates: [Double]
    /// The unit of every label and its bits per second.
    private let unit: (name: String, rate: Double)

    /// The ticks of an axis that ends at `highest`, at intervals that fit into `extent` at most `count` times.
    init(upTo highest: Double, extent: Double, count: Int) {
        let least = max(1, extent / Double(max(1, count)))
        var power = 1.0
        while power * 10 <= least { power *= 10 }
        let step = [1, 2, 5, 10].map { $0 * power }.first { $0 >= least } ?? 10 * power
        var rates: [Double] = []
        while rates.count < count, Double(rates.count + 1) * step <= highest {
            rates.append(Double(rates.count + 1) * step)
        }
        self.rates = rates
        let units = [("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)]
        unit = units.first { $0.1 <= max(step, rates.last ?? 0) } ?? ("bit/s", 1)
    }

    /// "20 Mbit/s", "0.5 Mbit/s": a tick in the unit that all of them share.
    func text(_ rate: Double) -> String {
        let tenths = Int64((rate / unit.rate * 10).rounded())
        return "\(tenths / 10)\(tenths.isMultiple(of: 10) ? "" : ".\(tenths % 10)") \(unit.name)"
    }
}
