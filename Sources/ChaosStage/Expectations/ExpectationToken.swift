import Units

/// A piece of an expectation.
enum ExpectationToken: Hashable {
    /// A word: a figure, a proxy, a kind of fault.
    case word(String)
    /// A text in double quotes, without them.
    case text(String)
    /// A number with the unit behind it, empty if there is none.
    case number(String, unit: String)
    /// `&&`, `||`, `!`, a comparison, a parenthesis or a dot.
    case symbol(String)

    var written: String {
        switch self {
        case .word(let word): word
        case .text(let text): "\"\(text)\""
        case .number(let number, let unit): unit.isEmpty ? number : "\(number) \(unit)"
        case .symbol(let symbol): symbol
        }
    }
}

/// Splits the text of an expectation.
struct ExpectationTokens {
    /// A piece and the position of its first character.
    typealias Element = (token: ExpectationToken, position: Int)

    private let text: String
    private let characters: [Character]
    private var index = 0

    private static let symbols = ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "."]

    static func read(_ text: String) throws(ExpectationError) -> [Element] {
        var tokens = ExpectationTokens(text)
        var result: [Element] = []
        while let element = try tokens.next() { result.append(element) }
        return result
    }

    private init(_ text: String) {
        self.text = text
        characters = Array(text)
    }

    private mutating func next() throws(ExpectationError) -> Element? {
        skipSpaces()
        guard index < characters.count else { return nil }
        let start = index
        let character = characters[index]
        if character == "\"" { return (try quoted(), start) }
        if ExpectationTokens.isDigit(character) { return (number(), start) }
        if character.isLetter || character == "_" {
            return (.word(take { $0.isLetter || $0.isNumber || "_-".contains($0) }), start)
        }
        for symbol in ExpectationTokens.symbols where characters[index...].starts(with: symbol) {
            index += symbol.count
            return (.symbol(symbol), start)
        }
        throw unknown(character)
    }

    private mutating func skipSpaces() { _ = take { $0.isWhitespace } }

    private mutating func take(while belongs: (Character) -> Bool) -> String {
        let start = index
        while index < characters.count, belongs(characters[index]) { index += 1 }
        return String(characters[start..<index])
    }

    private mutating func quoted() throws(ExpectationError) -> ExpectationToken {
        let start = index
        index += 1
        let content = take { $0 != "\"" }
        guard index < characters.count else {
            throw error("this text has no end", "write a “\"” behind it", at: start)
        }
        index += 1
        return .text(content)
    }

    /// A number, and the unit behind it and any spaces.
    private mutating func number() -> ExpectationToken {
        let number = take { ExpectationTokens.isDigit($0) || $0 == "." || $0 == "_" }
        let end = index
        skipSpaces()
        let unit = take { $0.isLetter || $0 == "%" || $0 == "/" }
        // The spaces, and a word that is no unit, belong to what comes next.
        let isWord = ExpectationTokens.joiners[unit] != nil || ExpectationOperand.words.contains(unit)
        if unit.isEmpty || isWord { index = end }
        return .number(number, unit: index == end ? "" : unit)
    }

    private func unknown(_ character: Character) -> ExpectationError {
        let remedy =
            switch character {
            case "&": "write “&&” for and"
            case "|": "write “||” for or"
            case "=": "write “==” to compare"
            case "≤": "write “<=”"
            case "≥": "write “>=”"
            case "≠": "write “!=”"
            case "'", "“", "”", "‘", "’": "write texts in straight double quotes"
            case "-": "figures are never below zero"
            default: "write a comparison, such as “exit == 0”"
            }
        return error("“\(character)” has no meaning here", remedy, at: index)
    }

    private func error(_ what: String, _ remedy: String, at position: Int) -> ExpectationError {
        ExpectationError(text: text, position: position, what: what, remedy: remedy)
    }

    private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

    /// Words for `&&` and `||` of other languages.
    static let joiners = ["and": "&&", "AND": "&&", "or": "||", "OR": "||"]
}
