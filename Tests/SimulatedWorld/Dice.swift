import Units

/// The randomness of a world: the same seed gives the same draws.
struct Dice {
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: SeededGenerator.mixed(seed))
    }

    /// A number of the range, each as likely.
    mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(generator.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// A number of the range, each order of magnitude as likely.
    mutating func spread(_ range: ClosedRange<Int>) -> Int {
        var low = max(1, range.lowerBound)
        while low < range.upperBound, number(0...2) > 0 { low = min(range.upperBound, low * 4) }
        return number(range.lowerBound...max(range.lowerBound, low))
    }

    /// `true` once in `times`; 0 is never.
    mutating func once(in times: Int) -> Bool { times > 0 && number(1...times) == 1 }

    /// One of the elements.
    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(0...elements.count - 1)] }
}
