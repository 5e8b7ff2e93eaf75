/// Finds the known word that a mistyped one was probably meant to be.
package enum Spelling {
    /// Words longer than this are never compared: no known word is as long.
    package static let longestCompared = 64

    /// The known words nearest to `word`, nearest only, in the order given; empty when none is near.
    ///
    /// A word in other letter case is nearest of all. Otherwise a word is near when at most a third
    /// of its letters (at least one, at most three) were inserted, deleted, replaced or swapped.
    package static func nearest(to word: String, among known: [String]) -> [String] {
        guard word.unicodeScalars.count <= longestCompared else { return [] }
        let sameLetters = known.filter { $0 != word && $0.lowercased() == word.lowercased() }
        if !sameLetters.isEmpty { return sameLetters }
        var best: [String] = []
        var bestDistance = Int.max
        for candidate in known {
            let allowed = min(3, max(1, candidate.unicodeScalars.count / 3))
            guard let distance = editDistance(from: word, to: candidate, limit: min(allowed, bestDistance)) else {
                continue
            }
            if distance < bestDistance { best = [] }
            bestDistance = distance
            best.append(candidate)
        }
        return best
    }

    /// The insertions, deletions, replacements and swaps of neighbours that lead from one word to
    /// the other (optimal string alignment), letter case aside; `nil` when they are more than `limit`.
    package static func editDistance(from left: String, to right: String, limit: Int) -> Int? {
        let source = Array(left.lowercased().unicodeScalars)
        let target = Array(right.lowercased().unicodeScalars)
        guard abs(source.count - target.count) <= limit else { return nil }
        let tooFar = limit + 1
        var beforePrevious: [Int] = []
        var previous = Array(0...target.count)
        for row in 0..<source.count {
            var current = Array(repeating: tooFar, count: target.count + 1)
            current[0] = row + 1
            // What lies further from the diagonal than the limit takes as many insertions or deletions.
            for column in max(0, row - limit)..<min(target.count, row + tooFar) {
                let replaced = previous[column] + (source[row] == target[column] ? 0 : 1)
                var cost = min(replaced, previous[column + 1] + 1, current[column] + 1)
                let isSwap =
                    row > 0 && column > 0 && source[row] == target[column - 1] && source[row - 1] == target[column]
                if isSwap { cost = min(cost, beforePrevious[column - 1] + 1) }
                current[column + 1] = cost
            }
            beforePrevious = previous
            previous = current
        }
        return previous[target.count] <= limit ? previous[target.count] : nil
    }
}

extension String {
    /// This text between typographic quotes, on one line and at most 40 characters long, for use in
    /// a message: control characters become `\u{…}`, and what is cut off an ellipsis.
    package var quoted: String {
        "“\(shortened(to: 40))”"
    }

    /// This text on one line: control and line-breaking characters as `\u{…}`, and no more than
    /// `limit` of its characters, an ellipsis standing for the rest.
    package func shortened(to limit: Int) -> String {
        var result = ""
        for (position, scalar) in unicodeScalars.enumerated() {
            if position == limit {
                result.unicodeScalars.append("…")
                break
            }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
