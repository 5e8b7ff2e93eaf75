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
            // Cells further from the diagonal than the limit need more edits than allowed.
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
        "“\(shortened(to: String.quotedLimit))”"
    }

    /// The characters of a text that are quoted in a message: 40.
    package static let quotedLimit = 40

    /// This text on one line: control and line-breaking characters as `\u{…}`, and no more than
    /// `limit` of its characters, an ellipsis standing for the rest.
    package func shortened(to limit: Int) -> String {
        var result = ""
        for (position, scalar) in unicodeScalars.enumerated() {
            if position == limit {
                result.unicodeScalars.append("…")
                break
            }
            result.append(showing: scalar)
        }
        return result
    }

    /// This text on one line: control, format and line-breaking characters as `\u{…}`.
    package var visibleLine: String { visible(keeping: []) }

    /// This text with its line feeds and tabs; all other control, format and line-breaking characters as `\u{…}`.
    package var visibleLines: String { visible(keeping: ["\n", "\t"]) }

    private func visible(keeping kept: [Unicode.Scalar]) -> String {
        guard unicodeScalars.contains(where: { $0.isHidden && !kept.contains($0) }) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            if kept.contains(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                result.append(showing: scalar)
            }
        }
        return result
    }

    /// This JSON text with every control, format and line-breaking character as `\uXXXX` (RFC 8259, section 7). In JSON
    /// without line breaks between its values they stand in texts only, so the value is the same.
    package var visibleJSON: String {
        guard unicodeScalars.contains(where: \.isHidden) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            guard scalar.isHidden else {
                result.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return result
    }

    private mutating func append(showing scalar: Unicode.Scalar) {
        if scalar.isHidden {
            self += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            unicodeScalars.append(scalar)
        }
    }
}

extension Unicode.Scalar {
    /// Whether this character changes what a terminal shows without being shown itself: controls, formats such as those
    /// that turn the direction of a text, and line breaks.
    package var isHidden: Bool {
        // Printable ASCII is most of all text, and asking for a property takes a search.
        if (0x20..<0x7F).contains(value) { return false }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
