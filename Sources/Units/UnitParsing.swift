/// Why a text isn't a value with a unit: what is wrong, and what to write instead.
public struct UnitError: Error, Hashable, Sendable {
    /// What is wrong, as a clause: "“250” has no unit".
    public let problem: String
    /// What to do about it, as an instruction: "write “250 ms” or “250 s”".
    public let remedy: String

    /// Makes an error of its two clauses.
    public init(problem: String, remedy: String) {
        self.problem = problem
        self.remedy = remedy
    }
}

extension Duration {
    /// Reads a duration of zero or more: digits with an optional decimal fraction, spaces or none,
    /// and one of `ns`, `us` (or `µs`), `ms`, `s`, `min`, `h`: "250 ms", "1.5s".
    ///
    /// The value is exact. Throws for anything else, for what is finer than 1 ns, and for more than
    /// 2⁶³ − 1 ns (292 years).
    public init(parsing text: String) throws(UnitError) {
        self = .nanoseconds(try UnitTable.durations.value(of: text))
    }

    /// The duration as people write it: "250 ms", "1.5 s", "2 min". `Duration(parsing:)` reads it back
    /// to the same value, if that is zero or more and a whole number of nanoseconds up to 2⁶³ − 1.
    public var text: String {
        let nanoseconds = self.nanoseconds
        let text = UnitTable.durations.text(of: Int64(clamping: nanoseconds.magnitude))
        return nanoseconds < 0 ? "-\(text)" : nanoseconds == 0 ? "0 s" : text
    }
}

extension ByteCount {
    /// Reads a size or offset of zero or more: digits with an optional decimal fraction, spaces or
    /// none, and one of `B`, `KB` (or `kB`), `MB`, `GB`, `TB` (powers of 1,000), `KiB`, `MiB`, `GiB`, `TiB` (powers
    /// of 1,024): "64 KiB", "1.5MB".
    ///
    /// The value is exact. Throws for anything else, for a fraction of a byte, and for more than
    /// 2⁶³ − 1 bytes.
    public init(parsing text: String) throws(UnitError) {
        self.init(try UnitTable.sizes.value(of: text))
    }

    /// The size as people write it: "64 KiB", "1 MB", "1025 B". `ByteCount(parsing:)` reads it back to
    /// the same value, if that is zero or more.
    public var text: String {
        UnitTable.sizes.text(of: bytes)
    }
}

extension BitRate {
    /// Reads a rate of zero or more: digits with an optional decimal fraction, spaces or none, and one
    /// of `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`, `B/s`, `KB/s` (or `kB/s`), `MB/s`, `GB/s` (powers of
    /// 1,000), `KiB/s`, `MiB/s`, `GiB/s` (powers of 1,024): "20 Mbit/s".
    ///
    /// The value is exact. Throws for anything else ("kbps" says neither bits nor bytes), for what is
    /// finer than 1 bit/s, and for more than 2⁶³ − 1 bit/s.
    public init(parsing text: String) throws(UnitError) {
        self.init(bitsPerSecond: try UnitTable.rates.value(of: text))
    }

    /// The rate as people write it: in bits ("20 Mbit/s"), or in bytes where that spares a long number
    /// ("1 MiB/s"). `BitRate(parsing:)` reads it back to the same value, if that is zero or more.
    public var text: String {
        let table = UnitTable.rates
        let inBits = table.text(of: bitsPerSecond, usual: 4)
        let isShort = inBits.prefix { $0 != " " }.count <= 6
        return isShort ? inBits : table.text(of: bitsPerSecond)
    }
}
