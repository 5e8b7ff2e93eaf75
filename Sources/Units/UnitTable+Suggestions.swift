extension UnitTable {
    /// The error for a text whose unit isn't one of this table: none, a mistyped one, one of
    /// another quantity, or nonsense.
    func unknownUnit(in parts: UnitText) -> UnitError {
        if parts.unit.isEmpty {
            return UnitError(
                problem: "\(parts.number.quoted) has no unit",
                remedy: UnitTable.instruction(likelyTexts(for: parts))
            )
        }
        if let other = UnitTable.all.first(where: { $0.reads(parts.unit) }) {
            let isPerSecondMissing = reads(parts.unit + "/s")
            return UnitError(
                problem: "\(parts.text.quoted) is \(other.quantity), not \(quantity)",
                remedy: isPerSecondMissing
                    ? UnitTable.instruction(["\(parts.number) \(parts.unit)/s"])
                    : "write \(quantity), such as \(example.quoted)"
            )
        }
        let meant = meantUnits(by: parts.unit)
        return UnitError(
            problem: "\(parts.text.quoted) has the unknown unit \(parts.unit.quoted)",
            remedy: meant.isEmpty
                ? "use one of " + units.map(\.spelling).joined(separator: ", ")
                : UnitTable.instruction(meant.map { "\(parts.number) \($0)" })
        )
    }

    func reads(_ text: String) -> Bool {
        units.contains { $0.isWritten(text) }
    }

    private func meantUnits(by unit: String) -> [String] {
        guard unit.unicodeScalars.count <= Spelling.longestCompared else { return [] }
        if let known = synonyms[unit.lowercased()] { return known }
        return Array(Spelling.nearest(to: unit, among: units.map(\.spelling)).prefix(2))
    }

    /// What a bare number may have meant: the number in the usual units, and a large number of
    /// base units in a unit that makes it short ("64 KiB" for 65536).
    private func likelyTexts(for parts: UnitText) -> [String] {
        var texts = usual.map { "\(parts.number) \($0)" }
        let inBaseUnits = "\(parts.number) \(units[0].spelling)"
        if texts.first == inBaseUnits, let value = try? value(of: inBaseUnits) {
            let short = text(of: value)
            if short.count < inBaseUnits.count { texts = [inBaseUnits, short] }
        }
        return texts
    }

    private static func instruction(_ texts: [String]) -> String {
        "write " + texts.map(\.quoted).joined(separator: " or ")
    }
}

extension UnitTable {
    /// Every table, for telling that a unit belongs to another quantity.
    static let all = [durations, sizes, rates]

    static let durations = UnitTable(
        quantity: "a duration",
        example: "250 ms",
        units: [
            UnitSpelling("ns", worth: 1),
            UnitSpelling("us", or: ["\u{B5}s", "\u{3BC}s"], worth: 1_000),
            UnitSpelling("ms", worth: 1_000_000),
            UnitSpelling("s", worth: 1_000_000_000),
            UnitSpelling("min", worth: 60_000_000_000),
            UnitSpelling("h", worth: 3_600_000_000_000),
        ],
        usual: ["ms", "s"],
        synonyms: [
            "msec": ["ms"], "msecs": ["ms"], "millis": ["ms"], "millisecond": ["ms"], "milliseconds": ["ms"],
            "usec": ["us"], "microsecond": ["us"], "microseconds": ["us"],
            "nsec": ["ns"], "nanosecond": ["ns"], "nanoseconds": ["ns"],
            "sec": ["s"], "secs": ["s"], "second": ["s"], "seconds": ["s"],
            "m": ["min", "ms"], "mins": ["min"], "minute": ["min"], "minutes": ["min"],
            "hr": ["h"], "hrs": ["h"], "hour": ["h"], "hours": ["h"],
        ]
    )

    static let sizes = UnitTable(
        quantity: "a size",
        example: "64 KiB",
        units: [
            UnitSpelling("B", worth: 1),
            UnitSpelling("KB", or: ["kB"], worth: 1_000),
            UnitSpelling("KiB", worth: 1 << 10),
            UnitSpelling("MB", worth: 1_000_000),
            UnitSpelling("MiB", worth: 1 << 20),
            UnitSpelling("GB", worth: 1_000_000_000),
            UnitSpelling("GiB", worth: 1 << 30),
            UnitSpelling("TB", worth: 1_000_000_000_000),
            UnitSpelling("TiB", worth: 1 << 40),
        ],
        usual: ["B", "KiB"],
        synonyms: [
            "byte": ["B"], "bytes": ["B"],
            "k": ["KiB", "KB"], "kb": ["KiB", "KB"], "kbyte": ["KB"], "kilobytes": ["KB"], "kibibytes": ["KiB"],
            "m": ["MiB", "MB"], "mb": ["MiB", "MB"], "mbyte": ["MB"], "megabytes": ["MB"], "mebibytes": ["MiB"],
            "g": ["GiB", "GB"], "gb": ["GiB", "GB"], "gbyte": ["GB"], "gigabytes": ["GB"], "gibibytes": ["GiB"],
            "t": ["TiB", "TB"], "tb": ["TiB", "TB"], "tbyte": ["TB"], "terabytes": ["TB"], "tebibytes": ["TiB"],
        ]
    )

    static let rates = UnitTable(
        quantity: "a rate",
        example: "20 Mbit/s",
        units: [
            UnitSpelling("bit/s", worth: 1),
            UnitSpelling("kbit/s", worth: 1_000),
            UnitSpelling("Mbit/s", worth: 1_000_000),
            UnitSpelling("Gbit/s", worth: 1_000_000_000),
            UnitSpelling("B/s", worth: 8),
            UnitSpelling("KB/s", or: ["kB/s"], worth: 8_000),
            UnitSpelling("KiB/s", worth: 8 << 10),
            UnitSpelling("MB/s", worth: 8_000_000),
            UnitSpelling("MiB/s", worth: 8 << 20),
            UnitSpelling("GB/s", worth: 8_000_000_000),
            UnitSpelling("GiB/s", worth: 8 << 30),
        ],
        usual: ["kbit/s", "Mbit/s"],
        synonyms: [
            "bps": ["bit/s", "B/s"], "b": ["bit/s", "B/s"],
            "kbps": ["kbit/s", "KB/s"], "kbit": ["kbit/s"], "kb/s": ["kbit/s", "KB/s"], "k": ["kbit/s", "KB/s"],
            "mbps": ["Mbit/s", "MB/s"], "mbit": ["Mbit/s"], "mb/s": ["Mbit/s", "MB/s"], "m": ["Mbit/s", "MB/s"],
            "gbps": ["Gbit/s", "GB/s"], "gbit": ["Gbit/s"], "gb/s": ["Gbit/s", "GB/s"], "g": ["Gbit/s", "GB/s"],
            "kibps": ["KiB/s"], "mibps": ["MiB/s"], "gibps": ["GiB/s"],
        ]
    )
}
