/// A unit: how it is written, and its worth in the base unit of its quantity.
struct UnitSpelling: Sendable {
    /// The spelling that is written and suggested.
    let spelling: String
    /// Other exact spellings that are read.
    let alternatives: [String]
    /// The value of one unit in the base unit: nanoseconds, bytes or bits per second. Above zero.
    let worth: Int64

    init(_ spelling: String, or alternatives: [String] = [], worth: Int64) {
        self.spelling = spelling
        self.alternatives = alternatives
        self.worth = worth
    }

    /// Whether `text` is this unit, scalar by scalar: Unicode's look-alikes of "K" don't count.
    func isWritten(_ text: String) -> Bool {
        ([spelling] + alternatives).contains { $0.unicodeScalars.elementsEqual(text.unicodeScalars) }
    }
}

/// The units of one quantity, and how texts with them are read and written.
struct UnitTable: Sendable {
    /// The quantity with its article: "a duration".
    let quantity: String
    /// A correct text.
    let example: String
    /// The units, smallest first; the first is the base unit or worth a whole number of it.
    let units: [UnitSpelling]
    /// The units to suggest where a text has none.
    let usual: [String]
    /// Common mistakes for units, in lower case, and their likely meanings.
    let synonyms: [String: [String]]

    /// The value of `text` in the base unit, exactly; zero or more.
    func value(of text: String) throws(UnitError) -> Int64 {
        let parts = try UnitText(text, example: example)
        guard let unit = units.first(where: { $0.isWritten(parts.unit) }) else {
            throw unknownUnit(in: parts)
        }
        var value: Int64 = 0
        for digit in parts.whole {
            value = try sum(product(value, 10, of: parts), Int64(digit), of: parts)
        }
        value = try product(value, unit.worth, of: parts)
        // The fraction from its last digit up: 0.d₁d₂d₃ × worth = (d₁·worth + (d₂·worth + …) / 10) / 10.
        // Every remainder must be zero, or the value lies between two multiples of the base unit.
        var carried: Int64 = 0
        var isExact = true
        for digit in parts.fraction.reversed() {
            let (quotient, remainder) = (Int64(digit) * unit.worth + carried).quotientAndRemainder(dividingBy: 10)
            isExact = isExact && remainder == 0
            carried = quotient
        }
        value = try sum(value, carried, of: parts)
        guard isExact else {
            throw UnitError(
                problem: "\(text.quoted) is finer than 1 \(units[0].spelling)",
                remedy: "write a multiple of 1 \(units[0].spelling), such as \(self.text(of: max(value, 1)).quoted)"
            )
        }
        return value
    }

    /// The shortest text of `value` whose number is 1 or more and has at most three decimals; of
    /// equally short ones that with the largest unit. `usual` limits the number of units.
    func text(of value: Int64, usual: Int? = nil) -> String {
        var best = "\(value) \(units[0].spelling)"
        guard value > 0 else { return best }
        for unit in units.prefix(usual ?? units.count) where value >= unit.worth {
            let (whole, remainder) = value.quotientAndRemainder(dividingBy: unit.worth)
            guard (remainder * 1000).isMultiple(of: unit.worth) else { continue }
            var thousandths = String(1000 + remainder * 1000 / unit.worth).dropFirst()
            while thousandths.last == "0" { thousandths.removeLast() }
            let number = thousandths.isEmpty ? "\(whole)" : "\(whole).\(thousandths)"
            let candidate = "\(number) \(unit.spelling)"
            if candidate.count <= best.count { best = candidate }
        }
        return best
    }

    private func product(_ left: Int64, _ right: Int64, of parts: UnitText) throws(UnitError) -> Int64 {
        let (product, overflow) = left.multipliedReportingOverflow(by: right)
        if overflow { throw tooLarge(parts) }
        return product
    }

    private func sum(_ left: Int64, _ right: Int64, of parts: UnitText) throws(UnitError) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        if overflow { throw tooLarge(parts) }
        return sum
    }

    private func tooLarge(_ parts: UnitText) -> UnitError {
        UnitError(
            problem: "\(parts.text.quoted) is too large",
            remedy: "write \(quantity) of at most \(text(of: .max).quoted)"
        )
    }
}
