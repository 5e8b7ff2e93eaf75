import FaultProfile
import Glibc
import Units

/// The delays of a latency fault, each drawn by a position in the stream.
///
/// Correlated draws are a Gaussian copula: a first-order autoregressive sequence of normal deviates, each mapped through
/// the distribution function, so that correlation doesn't change the distribution.
struct DelayDraws {
    private let delay: Double
    private let jitter: Double
    private let minimum: Double
    private let distribution: Latency.Distribution
    /// The quantiles in nanoseconds, if given.
    private let quantiles: [Double]
    private let correlation: Double
    private let key: RandomKey
    /// The work of a draw, in quarters of a stage's answer: distribution functions cost more than bits.
    private let price: Int
    /// The work of the draws so far.
    private(set) var cost = 0
    /// The last position drawn for, and its normal deviate.
    private var last: (position: Int64, deviate: Double)?

    init(_ latency: Latency, key: RandomKey) {
        delay = Double(latency.delay.nanoseconds)
        jitter = Double(latency.jitter.nanoseconds)
        minimum = Double(latency.minimum.nanoseconds)
        distribution = latency.distribution
        quantiles =
            if case .quantiles(let table) = latency.distribution { table.map { Double($0.nanoseconds) } } else { [] }
        correlation = latency.correlation.fraction
        self.key = key
        let isPlain =
            switch latency.distribution {
            case .uniform, .quantiles: latency.correlation == .never
            case .normal, .pareto, .logNormal: false
            }
        price = isPlain ? 1 : 8
    }

    /// Whether draws can differ.
    var vary: Bool {
        if case .quantiles = distribution { true } else { jitter > 0 }
    }

    /// How far apart two draws may lie, in nanoseconds; `Int64.max` if nothing limits it.
    var spread: Int64 {
        switch distribution {
        case .uniform: Int64(min(2 * jitter, 9e18))
        case .quantiles: Int64(min((quantiles.last ?? 0) - (quantiles.first ?? 0), 9e18))
        case .normal, .pareto, .logNormal: vary ? .max : 0
        }
    }

    /// The delay in nanoseconds at `position`; repeating the last position gives the same delay.
    mutating func delay(at position: Int64) -> Int64 {
        cost += price
        let drawn = max(minimum, value(at: position))
        return drawn <= 0 ? 0 : drawn >= 9e18 ? .max : Int64(drawn)
    }

    private mutating func value(at position: Int64) -> Double {
        switch distribution {
        case .uniform:
            return delay + (2 * level(at: position).below - 1) * jitter
        case .normal:
            return delay + deviate(at: position) * jitter
        case .pareto:
            // With shape 3 and scale 1, the mean is 3/2 and the variance 3/4.
            return delay + (1 / cbrt(level(at: position).above) - 1.5) / 0.75.squareRoot() * jitter
        case .logNormal:
            guard delay > 0 else { return 0 }
            let variance = log1p(jitter / delay * (jitter / delay))
            return delay * exp(deviate(at: position) * variance.squareRoot() - variance / 2)
        case .quantiles:
            let place = level(at: position).below * Double(quantiles.count - 1)
            let index = min(Int(place), quantiles.count - 2)
            let low = quantiles[index]
            return delay + low + (place - Double(index)) * (quantiles[index + 1] - low)
        }
    }

    /// A uniform draw: the chance of a smaller one, and of a larger one, which is above zero.
    private mutating func level(at position: Int64) -> (below: Double, above: Double) {
        guard correlation > 0 else {
            let below = key.fraction(at: position)
            return (below, 1 - below)
        }
        let deviate = deviate(at: position)
        return (erfc(-deviate * 0.5.squareRoot()) / 2, erfc(deviate * 0.5.squareRoot()) / 2)
    }

    /// A normal deviate correlated with the last one.
    private mutating func deviate(at position: Int64) -> Double {
        guard correlation > 0 else { return independentDeviate(at: position) }
        guard let last else {
            let first = independentDeviate(at: position)
            self.last = (position, first)
            return first
        }
        guard last.position != position else { return last.deviate }
        let news = (1 - correlation * correlation).squareRoot() * independentDeviate(at: position)
        let next = correlation * last.deviate + news
        self.last = (position, next)
        return next
    }

    /// An independent normal deviate. Box and Muller, "A note on the generation of random normal
    /// deviates", 1958.
    private func independentDeviate(at position: Int64) -> Double {
        let first = 1 - key.adding(1).fraction(at: position)
        let second = key.adding(2).fraction(at: position)
        return (-2 * log(first)).squareRoot() * cos(2 * Double.pi * second)
    }
}
