/// A chance between 0 (never) and 1 (always), both included.
public struct Probability: Comparable, Hashable, Sendable {
    /// The chance as a fraction of one.
    public let fraction: Double

    /// Makes a probability, or `nil` when `fraction` isn't a number from 0 to 1.
    public init?(_ fraction: Double) {
        guard fraction >= 0, fraction <= 1 else { return nil }
        self.fraction = fraction
    }

    private init(unchecked fraction: Double) {
        self.fraction = fraction
    }

    /// 0: never.
    public static let never = Probability(unchecked: 0)
    /// 1: always.
    public static let always = Probability(unchecked: 1)

    /// Whether `left` is the less likely.
    public static func < (left: Probability, right: Probability) -> Bool { left.fraction < right.fraction }

    /// Whether an event of this chance happens for a draw from 0 up to, but not including, 1.
    public func happens(_ draw: Double) -> Bool { draw < fraction }
}
