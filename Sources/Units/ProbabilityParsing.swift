extension Probability {
    /// Reads a chance: digits with an optional decimal fraction, spaces or none, and a percent sign,
    /// from 0 to 100: "2 %", "0.5%".
    ///
    /// The value is the `Double` nearest to the number written. Throws for anything else; a number
    /// without the sign is refused, since 0.02 and 2 would both be plausible.
    public init(parsing text: String) throws(UnitError) {
        let parts = try UnitText(text, example: "2 %")
        guard parts.unit == "%" else { throw Probability.wrongUnit(in: parts) }
        guard Probability.isAtMost(100, parts),
            let fraction = Double("\(parts.number)e-2"),
            let probability = Probability(fraction)
        else {
            throw UnitError(problem: "\(text.quoted) is more than 100 %", remedy: "write “100 %” or less")
        }
        self = probability
    }

    /// The chance in percent: "2 %", "0.5 %". `Probability(parsing:)` reads it back to the same value.
    public var text: String {
        // The description is the shortest decimal that is nearest to this value, such as "0.02" or
        // "2.5e-07"; moving its point two places makes a percentage without touching a digit.
        let halves = fraction.description.split(separator: "e")
        let exponent = halves.count == 2 ? Int(halves[1]) ?? 0 : 0
        let mantissa = (halves.first ?? "0").split(separator: ".")
        let whole = mantissa.first.map(Array.init) ?? []
        let digits = whole + (mantissa.count == 2 ? Array(mantissa[1]) : [])
        let pointIndex = whole.count + exponent + 2
        let zerosBefore = Array(repeating: Character("0"), count: max(0, 1 - pointIndex))
        let zerosAfter = Array(repeating: Character("0"), count: max(0, pointIndex - digits.count))
        let padded = zerosBefore + digits + zerosAfter
        let point = max(1, pointIndex)
        let beforePoint = padded[..<point].drop { $0 == "0" }
        var afterPoint = padded[point...]
        while afterPoint.last == "0" { afterPoint.removeLast() }
        let number = beforePoint.isEmpty ? "0" : String(beforePoint)
        return afterPoint.isEmpty ? "\(number) %" : "\(number).\(String(afterPoint)) %"
    }

    /// Whether a number is at most `limit`, digit by digit, so that no rounding hides an excess.
    private static func isAtMost(_ limit: Int, _ parts: UnitText) -> Bool {
        var value = 0
        for digit in parts.whole {
            value = value * 10 + Int(digit)
            if value > limit { return false }
        }
        return value < limit || parts.fraction.isEmpty
    }

    private static func wrongUnit(in parts: UnitText) -> UnitError {
        if parts.unit.isEmpty {
            let isFraction = isAtMost(1, parts) && !parts.fraction.isEmpty
            let asPercentage = isFraction ? Double(parts.number).flatMap(Probability.init)?.text : nil
            return UnitError(
                problem: "\(parts.number.quoted) has no percent sign",
                remedy: "write " + (asPercentage ?? "\(parts.number) %").quoted
            )
        }
        if UnitTable.all.contains(where: { $0.reads(parts.unit) }) {
            return UnitError(
                problem: "\(parts.text.quoted) is not a chance",
                remedy: "write a chance in percent, such as “2 %”"
            )
        }
        return UnitError(
            problem: "\(parts.text.quoted) has the unknown unit \(parts.unit.quoted)",
            remedy: "write \("\(parts.number) %".quoted)"
        )
    }
}
