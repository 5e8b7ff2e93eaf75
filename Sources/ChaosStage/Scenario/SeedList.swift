import Units

/// The seeds of a chaos stage.
package struct SeedList: Hashable, Sendable {
    /// The most seeds: 1,000.
    package static let limit = 1_000

    /// The seeds in order, each once; at least one.
    package let seeds: [UInt64]

    /// Reads seeds and ranges of seeds, separated by commas: "7", "1..5", "1..3,9".
    ///
    /// - Throws: `UnitError` for anything else, and for more than `limit` seeds.
    package init(parsing text: String) throws(UnitError) {
        var seeds: [UInt64] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let range = try SeedList.range(part.filter { $0 != " " }, of: text)
            // The number of all seeds isn't an `Int`.
            guard range.upperBound - range.lowerBound < SeedList.limit, seeds.count + range.count <= SeedList.limit
            else {
                throw UnitError(
                    problem: "\(text.quoted) are more than \(SeedList.limit) seeds",
                    remedy: "write fewer, such as “1..20”"
                )
            }
            for seed in range where !seeds.contains(seed) { seeds.append(seed) }
        }
        self.seeds = seeds
    }

    private static func range(_ part: String, of text: String) throws(UnitError) -> ClosedRange<UInt64> {
        let parts = part.split(separator: "..", maxSplits: 1, omittingEmptySubsequences: false)
        let bounds = parts.compactMap { UInt64($0) }
        guard bounds.count == parts.count, let first = bounds.first, let last = bounds.last, first <= last else {
            throw UnitError(
                problem: "\(text.quoted) is no list of seeds",
                remedy: "write a seed or a range, upwards, such as “7”, “1..5” or “1..3,9”"
            )
        }
        return first...last
    }
}
