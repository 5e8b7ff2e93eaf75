/// Figures for people, rounded to the nearest: for drawings, whose labels are read off against each other.
package enum NearestText {
    /// "38.2 Mbit/s", "7 bit/s".
    package static func rate(bitsPerSecond: Double) -> String {
        scaled(bitsPerSecond, by: 1_000, units: ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
    }

    /// "64 MiB", "1.5 KiB", "320 B".
    package static func size(_ bytes: Int64) -> String {
        scaled(Double(bytes), by: 1_024, units: ["B", "KiB", "MiB", "GiB", "TiB"])
    }

    /// "12.3 s"; "80 ms" below a second, "0.4 ms" below ten milliseconds, "0 s".
    package static func time(_ duration: Duration) -> String {
        if duration <= .zero { return "0 s" }
        let milliseconds = Double(duration.nanoseconds) / 1e6
        if milliseconds >= 999.5 { return "\(tenths(milliseconds / 1_000)) s" }
        return "\(milliseconds >= 9.95 ? whole(milliseconds) : withoutZero(tenths(milliseconds))) ms"
    }

    /// A number, zero or more, in the largest unit in which it is 1 or more, with a digit behind the point unless that is
    /// zero. The rounded number decides about the unit: 999.96 kbit/s is 1 Mbit/s.
    private static func scaled(_ number: Double, by factor: Double, units: [String]) -> String {
        var (number, unit) = (max(0, number), 0)
        while unit + 1 < units.count, (unit == 0 ? number.rounded() : (number * 10).rounded() / 10) >= factor {
            number /= factor
            unit += 1
        }
        return "\(unit == 0 ? whole(number) : withoutZero(tenths(number))) \(units[unit])"
    }

    private static func whole(_ value: Double) -> String { "\(Int64(min(value, 1e18).rounded()))" }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int64(min(value * 10, 1e18).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func withoutZero(_ text: String) -> String { text.hasSuffix(".0") ? String(text.dropLast(2)) : text }
}
