import FaultProfile
import Units

/// The bytes that a changing rate carries between two times: the exact integral in closed form, so that errors don't
/// accumulate.
///
/// Times are nanoseconds since the start of the curve; before it the first rate holds. The integral is in
/// bits × nanoseconds per second, 8,000,000,000 for a byte.
struct RateCurve: Sendable {
    private static let byte: Int128 = 8_000_000_000

    let first: BitRate
    /// Whether the rate never changes.
    let isSteady: Bool
    private let shape: Shape

    private enum Shape {
        case steady
        case steps(Steps)
        case wave(Wave)
    }

    init(_ bandwidth: Bandwidth) {
        first = bandwidth.rate
        isSteady = bandwidth.variation == .steady
        switch bandwidth.variation {
        case .steady: shape = .steady
        case .steps(let steps, let repeats):
            shape = .steps(Steps(first: bandwidth.rate, steps, repeats: repeats))
        case .wave(let high, let period):
            shape = .wave(Wave(low: bandwidth.rate, high: high, period: period))
        }
    }

    func rate(at time: Int64) -> BitRate {
        guard time > 0 else { return first }
        switch shape {
        case .steady: return first
        case .steps(let steps): return BitRate(bitsPerSecond: steps.rate(at: time))
        case .wave(let wave): return BitRate(bitsPerSecond: wave.rate(at: time))
        }
    }

    // The questions about a steady rate are inlined: they are short, and a call copies the steps.

    /// The bytes that pass between two times, rounded down; 0 if `end` isn't later.
    @inline(__always)
    func bytes(from start: Int64, to end: Int64) -> Int64 {
        guard end > start else { return 0 }
        if isSteady { return first.bytes(inNanoseconds: end.subtractingSaturated(start)) }
        return unsteadyBytes(from: start, to: end)
    }

    private func unsteadyBytes(from start: Int64, to end: Int64) -> Int64 {
        Int64(clamping: (integral(to: end) - integral(to: start)) / RateCurve.byte)
    }

    /// The bits, and parts of one, that pass between two times.
    func bits(from start: Int64, to end: Int64) -> Double { Double(integral(to: end) - integral(to: start)) / 1e9 }

    /// The time by which `bytes` have passed since `start`; may be a few nanoseconds late, never early.
    @inline(__always)
    func time(from start: Int64, forBytes bytes: Int64) -> Int64 {
        guard bytes > 0 else { return start }
        if isSteady { return start.addingSaturated(first.nanoseconds(forBytes: bytes)) }
        return unsteadyTime(from: start, forBytes: bytes)
    }

    private func unsteadyTime(from start: Int64, forBytes bytes: Int64) -> Int64 {
        time(reaching: integral(to: start) + Int128(bytes) * RateCurve.byte)
    }

    /// The time from which `bytes` pass until `end`.
    @inline(__always)
    func time(before end: Int64, forBytes bytes: Int64) -> Int64 {
        guard bytes > 0 else { return end }
        if isSteady { return end.subtractingSaturated(first.nanoseconds(forBytes: bytes)) }
        return unsteadyTime(before: end, forBytes: bytes)
    }

    private func unsteadyTime(before end: Int64, forBytes bytes: Int64) -> Int64 {
        let time = time(reaching: integral(to: end) - Int128(bytes) * RateCurve.byte)
        // The result may be a little late; an early one is needed.
        return self.bytes(from: time, to: end) < bytes ? time.subtractingSaturated(8) : time
    }

    /// How long after a time the rate may be treated as constant beside another rate: until the next step, or a 64th of
    /// a wave's period, but at least 1 ms, the spacing of calls to a link.
    func rateConstantFor(after time: Int64) -> Int64 {
        switch shape {
        case .steady: .max
        case .steps(let steps): steps.nextStep(after: max(0, time)).subtractingSaturated(time)
        case .wave(let wave): max(Self.shortest, wave.period / 64)
        }
    }

    private static let shortest: Int64 = 1_000_000

    private func integral(to time: Int64) -> Int128 {
        guard time > 0 else { return Int128(time) * Int128(first.bitsPerSecond) }
        switch shape {
        case .steady: return Int128(time) * Int128(first.bitsPerSecond)
        case .steps(let steps): return steps.integral(to: time)
        case .wave(let wave): return wave.integral(to: time)
        }
    }

    private func time(reaching integral: Int128) -> Int64 {
        // Division rounds towards zero: up for negative numbers.
        guard integral > 0 else { return Int64(clamping: integral / Int128(first.bitsPerSecond)) }
        switch shape {
        case .steady: return Int64(clamping: (integral - 1) / Int128(first.bitsPerSecond) + 1)
        case .steps(let steps): return steps.time(reaching: integral)
        case .wave(let wave): return wave.time(reaching: integral)
        }
    }
}

/// A sequence of rates, once or repeated.
private struct Steps {
    /// The start of each rate, and the integral up to it.
    private let begins: [Int64]
    private let rates: [Int64]
    private let sums: [Int128]
    /// The time after which the sequence repeats, and the integral up to it.
    private let period: Int64
    private let total: Int128

    init(first: BitRate, _ steps: [Bandwidth.Step], repeats: Duration?) {
        begins = [0] + steps.map(\.after.nanoseconds)
        rates = [first.bitsPerSecond] + steps.map(\.rate.bitsPerSecond)
        period = repeats?.nanoseconds ?? .max
        var sums: [Int128] = []
        var sum: Int128 = 0
        for index in begins.indices {
            sums.append(sum)
            let end = index + 1 < begins.count ? begins[index + 1] : period
            sum += Int128(rates[index]) * Int128(end - begins[index])
        }
        self.sums = sums
        total = sum
    }

    func rate(at time: Int64) -> Int64 { rates[index(at: time % period)] }

    func integral(to time: Int64) -> Int128 {
        let (rounds, rest) = time.quotientAndRemainder(dividingBy: period)
        let index = index(at: rest)
        return Int128(rounds) * total + sums[index] + Int128(rates[index]) * Int128(rest - begins[index])
    }

    func time(reaching integral: Int128) -> Int64 {
        let (rounds, rest) = integral.quotientAndRemainder(dividingBy: total)
        let index = sums.lastIndex { $0 <= rest } ?? 0
        let rate = Int128(rates[index])
        let part = (rest - sums[index] + rate - 1) / rate
        return Int64(clamping: rounds * Int128(period) + Int128(begins[index]) + part)
    }

    /// The next change of the rate after a time.
    func nextStep(after time: Int64) -> Int64 {
        let (rounds, rest) = time.quotientAndRemainder(dividingBy: period)
        let next = index(at: rest) + 1
        guard next < begins.count || period < .max else { return .max }
        return (rounds * period).addingSaturated(next < begins.count ? begins[next] : period)
    }

    private func index(at time: Int64) -> Int { begins.lastIndex { $0 <= time } ?? 0 }
}

/// A rate that rises and falls linearly, so that the bytes passed are parabolas.
private struct Wave {
    private let low: Int128
    private let difference: Int128
    let period: Int64
    private let total: Int128

    init(low: BitRate, high: BitRate, period: Duration) {
        // Bounded, so that a product with two times fits 128 bits.
        self.period = min(period, Bandwidth.longestPeriod).nanoseconds
        self.low = Int128(low.bitsPerSecond)
        difference = Int128(max(0, high.bitsPerSecond - low.bitsPerSecond))
        total = self.low * Int128(self.period) + difference * Int128(self.period) / 2
    }

    func rate(at time: Int64) -> Int64 {
        let rest = time % period
        let flank = Int128(min(rest, period - rest))
        return Int64(clamping: low + difference * 2 * flank / Int128(period))
    }

    func integral(to time: Int64) -> Int128 {
        let (rounds, rest) = time.quotientAndRemainder(dividingBy: period)
        let part = rest <= period / 2 ? rise(rest) : total - rise(period - rest)
        return Int128(rounds) * total + part
    }

    /// The integral up to a time of the first half: low × t + difference × t² / period, rounded down.
    private func rise(_ time: Int64) -> Int128 {
        let (time, period) = (Int128(time), Int128(period))
        let (quotient, remainder) = (difference * time).quotientAndRemainder(dividingBy: period)
        return low * time + quotient * time + remainder * time / period
    }

    func time(reaching integral: Int128) -> Int64 {
        let (rounds, rest) = integral.quotientAndRemainder(dividingBy: total)
        let isRising = rest <= rise(period / 2)
        let flank = flank(reaching: Wave.double(isRising ? rest : total - rest))
        let begin = rounds * Int128(period)
        let guess = begin + (isRising ? Int128(flank) : Int128(period) - Int128(flank))
        var time = Int64(clamping: max(begin, guess - 2))
        // The root is off by a few nanoseconds; it must not be early.
        var step: Int64 = 1
        while time < .max, self.integral(to: time) < integral {
            time = time.addingSaturated(step)
            step *= 2
        }
        return time
    }

    /// The root of low × t + difference × t² / period = `part`, in the numerically stable form.
    private func flank(reaching part: Double) -> Double {
        guard part > 0 else { return 0 }
        let low = Wave.double(low)
        let root = (low * low + 4 * Wave.double(difference) / Double(period) * part).squareRoot()
        return min(2 * part / (low + root), Double(period))
    }

    /// Converts a number of zero or more; the standard library's conversion goes bit by bit and is many times slower.
    private static func double(_ number: Int128) -> Double {
        Double(UInt64(truncatingIfNeeded: number >> 64)) * 0x1p64 + Double(UInt64(truncatingIfNeeded: number))
    }
}
