/// Formats numbers for people.
package enum Formatting {
    /// "12.3 s", aligned up to 999 s; never negative.
    package static func seconds(_ duration: Duration) -> String { signedSeconds(max(.zero, duration)) }

    /// "12.3 s" or "-12.3 s", rounded towards zero, in the same width.
    package static func signedSeconds(_ duration: Duration) -> String {
        let tenths = duration.nanoseconds.magnitude / 100_000_000
        let sign = duration < .zero && tenths > 0 ? "-" : ""
        let text = "\(sign)\(tenths / 10).\(tenths % 10) s"
        return String(repeating: " ", count: max(0, 7 - text.count)) + text
    }

    /// "67,108,864".
    package static func grouped(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return number < 0 ? "-\(text)" : text
    }

    private static let sizes = ["B", "KiB", "MiB", "GiB", "TiB"]

    /// "64.0 MiB": three digits or four, rounded down.
    package static func size(_ bytes: Int64) -> String { "\(size(bytes, inUnitOf: bytes)) \(sizes[step(of: bytes)])" }

    /// "0.5": `bytes` in the unit that `other` is shown in, rounded down.
    package static func size(_ bytes: Int64, inUnitOf other: Int64) -> String {
        let step = step(of: other)
        return step > 0 ? tenths(Double(bytes) / Double(UInt64(1) << (10 * step))) : "\(bytes)"
    }

    private static func step(of bytes: Int64) -> Int {
        var step = 0
        while step + 1 < sizes.count, bytes.magnitude >= UInt64(1) << (10 * (step + 1)) { step += 1 }
        return step
    }

    /// "4.8 MiB/s", "48 KiB/s": at most three digits, rounded down.
    package static func byteRate(_ bytesPerSecond: Double) -> String {
        var (rate, step) = (max(0, bytesPerSecond), 0)
        while step + 1 < sizes.count, rate >= 1_000 {
            rate /= 1_024
            step += 1
        }
        return "\(step > 0 && rate < 10 ? tenths(rate) : "\(Int64(min(rate, 1e15)))") \(sizes[step])/s"
    }

    /// "0:12", "1h02m", "12 h", "4 d": five characters at most, rounded up; `nil` from 1,000 days on.
    package static func timeLeft(seconds: Double) -> String? {
        guard seconds < 86_400 * 999 else { return nil }
        let seconds = Int64(seconds.rounded(.up))
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        if seconds < 3_600 { return "\(seconds / 60):\(two(seconds % 60))" }
        let minutes = (seconds + 59) / 60
        if minutes < 600 { return "\(minutes / 60)h\(two(minutes % 60))m" }
        let hours = (minutes + 59) / 60
        return hours < 100 ? "\(hours) h" : "\((hours + 23) / 24) d"
    }

    /// "38.2 Mbit/s".
    package static func rate(bytes: Int64, in duration: Duration) -> String {
        let seconds = Double(duration.nanoseconds) / 1e9
        guard seconds > 0, bytes > 0 else { return "0 bit/s" }
        return rate(bitsPerSecond: Double(bytes) * 8 / seconds)
    }

    /// "38.2 Mbit/s"; "7 bit/s" below 1 kbit/s.
    package static func rate(bitsPerSecond: Double) -> String {
        guard bitsPerSecond >= 1_000 else { return "\(Int64(bitsPerSecond)) bit/s" }
        var rate = bitsPerSecond
        let steps = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]
        var step = 0
        while step + 1 < steps.count, rate >= 1_000 {
            rate /= 1_000
            step += 1
        }
        return "\(tenths(rate)) \(steps[step])"
    }

    /// "0.02 %".
    package static func percent(_ part: Int64, of whole: Int64) -> String {
        guard whole > 0 else { return "0.00 %" }
        let hundredths = Int64((Double(part) / Double(whole) * 10_000).rounded())
        let digits = String(hundredths % 100)
        return "\(hundredths / 100).\(digits.count < 2 ? "0" : "")\(digits) %"
    }

    /// "0.50", rounded to the nearest, as by `%.2f` in C.
    package static func hundredths(_ value: Double) -> String {
        let scaled = value.magnitude * 100
        guard scaled < 1e15 else { return "\(value)" }
        var number = scaled.rounded(.toNearestOrEven)
        // What the multiplication has rounded away decides a tie.
        let lost = (-scaled).addingProduct(value.magnitude, 100)
        if scaled - scaled.rounded(.down) == 0.5, lost != 0 { number = scaled.rounded(lost > 0 ? .up : .down) }
        let (whole, rest) = Int64(number).quotientAndRemainder(dividingBy: 100)
        return "\(value < 0 ? "-" : "")\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }

    private static func tenths(_ value: Double) -> String {
        // Larger values exceed the precision of Double.
        let tenths = Int64(min(value * 10, 1e18).rounded(.down))
        return "\(tenths / 10).\(tenths % 10)"
    }
}
