import Units

/// The bytes that arrive over time, counted in intervals of equal length.
///
/// The intervals begin at 1 ms. When there are too many they are joined: 2 ms, 10 ms, 20 ms, 100 ms and so on.
public struct ProgressCurve: Hashable, Sendable {
    /// The most intervals: 6,000.
    public static let limit = 6_000

    /// The length of an interval, in nanoseconds.
    public private(set) var width: Int64 = 1_000_000
    /// The bytes of each interval, and parts of one where an arrival was spread.
    public private(set) var bytes: [Double] = []
    /// Whether the next intervals are twice as long, and not five times.
    private var doublesNext = true

    /// Makes an empty curve.
    public init() {}

    /// Adds `count` bytes that arrived evenly between two times after the start, in nanoseconds; `begin` is zero or more,
    /// and `end` isn't earlier.
    public mutating func arrived(_ count: Int64, from begin: Int64, to end: Int64) {
        while end / width >= Int64(ProgressCurve.limit) { coarsen() }
        let last = Int(end / width)
        while bytes.count <= last { bytes.append(0) }
        guard end > begin else {
            bytes[last] += Double(count)
            return
        }
        for index in Int(begin / width)...last {
            let (from, to) = (max(begin, Int64(index) * width), min(end, Int64(index + 1) * width))
            bytes[index] += Double(count) * Double(to - from) / Double(end - begin)
        }
    }

    /// The bytes that arrive between two times after the start, in nanoseconds; evenly within an interval.
    public func bytes(from begin: Int64, to end: Int64) -> Double {
        let first = Int(max(0, begin) / width)
        guard end > begin, first < bytes.count else { return 0 }
        return (first...min(bytes.count - 1, Int(end / width))).reduce(0.0) { sum, index in
            let (from, to) = (max(begin, Int64(index) * width), min(end, Int64(index + 1) * width))
            return sum + bytes[index] * Double(max(0, to - from)) / Double(width)
        }
    }

    private mutating func coarsen() {
        let factor = doublesNext ? 2 : 5
        doublesNext.toggle()
        width *= Int64(factor)
        bytes = stride(from: 0, to: bytes.count, by: factor).map { first in
            bytes[first..<min(first + factor, bytes.count)].reduce(0, +)
        }
    }
}
