/// Why a text isn't an expectation: where, what, and what to write instead.
package struct ExpectationError: Error, Hashable, Sendable, CustomStringConvertible {
    package let text: String
    /// The first character that is wrong, counted from 0; the number of characters for one that is missing at the end.
    package let position: Int
    /// What is wrong, as a clause on one line.
    package let what: String
    /// What to do about it, as an instruction on one line.
    package let remedy: String

    /// Three lines: the text, a caret below the wrong character, and what to do.
    package var description: String {
        // A control character would move the caret.
        let line = String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
        return "\(line)\n\(String(repeating: " ", count: position))^\n\(what) (\(remedy))"
    }
}
