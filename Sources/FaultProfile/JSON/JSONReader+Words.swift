import Units

extension JSONReader {
    /// Reads the unquoted number or word that begins here.
    mutating func word() -> JSONValue {
        let place = cursor.place
        let word = bareText()
        if isNumber(word) { return number(word, from: place) }
        switch word {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "null": return .null
        default: break
        }
        let lowercased = word.lowercased()
        if lowercased == "true" || lowercased == "false" {
            report("\(word.quoted) is not JSON", remedy: "write \(lowercased.quoted)", at: place)
            return .boolean(lowercased == "true")
        }
        let hasUnit = word.unicodeScalars.contains { $0.isWordStart || $0 == "%" || $0.value > 0x7F }
        if word.unicodeScalars.first?.isWordStart == true || word.contains(":") || !hasUnit && isAddressOrRange(word) {
            report(
                "the text \(word.quoted) stands without quotes",
                remedy: "write “\"\(word.shortened(to: 40))\"”",
                at: place
            )
        } else if hasUnit {
            reportValueWithUnit(word, at: place)
        } else {
            report(
                "\(word.quoted) is not a number as JSON writes them",
                remedy: "write digits without a zero or a plus in front, and digits on both sides of the point",
                at: place
            )
        }
        return .unreadable
    }

    /// Takes a word with following signs, as in “20Mbit/s”, “10.0.0.0/8” and “fd00::1”, up to a comment. Never valid JSON.
    private mutating func bareText() -> String {
        var text = cursor.take { $0.isWordCharacter }
        while let sign = cursor.scalar, sign == ":" || sign == "/" {
            let next = cursor.scalar(ahead: 1)
            if sign == "/", next == "/" || next == "*" { break }
            cursor.advance()
            text.unicodeScalars.append(sign)
            text += cursor.take { $0.isWordCharacter }
        }
        return text
    }

    /// A number, unless a unit follows it: `250 ms` without quotes is a common slip.
    private mutating func number(_ number: String, from place: SourcePlace) -> JSONValue {
        var ahead = cursor
        _ = ahead.take { $0 == " " }
        guard let next = ahead.scalar, next.isWordCharacter, !next.isDigit, next != "-" else { return .number(number) }
        let unit = ahead.take { $0.isWordCharacter || $0 == "/" }
        cursor = ahead
        reportValueWithUnit("\(number) \(unit)", at: place)
        return .unreadable
    }

    private mutating func reportValueWithUnit(_ value: String, at place: SourcePlace) {
        report(
            "\(value.quoted) stands without quotes",
            remedy: "write a value with a unit as a text: “\"\(value.shortened(to: 40))\"”",
            at: place
        )
    }
}

/// Whether a word of digits and signs can't have been meant as a number: “10.0.0.0/8”, “1..2”.
private func isAddressOrRange(_ word: String) -> Bool {
    word.contains("/") || word.unicodeScalars.count { $0 == "." } > 1
}

/// Whether a word is a number of RFC 8259 §6.
private func isNumber(_ word: String) -> Bool {
    var rest = Substring(word).unicodeScalars
    func skipDigits() -> Bool {
        let digits = rest.prefix { $0.isDigit }
        rest = rest.dropFirst(digits.count)
        return !digits.isEmpty
    }
    if rest.first == "-" { rest.removeFirst() }
    if rest.first == "0" {
        rest.removeFirst()
    } else if !skipDigits() {
        return false
    }
    if rest.first == "." {
        rest.removeFirst()
        if !skipDigits() { return false }
    }
    if rest.first == "e" || rest.first == "E" {
        rest.removeFirst()
        if rest.first == "+" || rest.first == "-" { rest.removeFirst() }
        if !skipDigits() { return false }
    }
    return rest.isEmpty
}
