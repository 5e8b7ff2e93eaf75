import Units

extension JSONReader {
    /// Reads the text that begins here; single quotes are reported.
    mutating func text() throws(Stopped) -> String {
        let start = cursor.place
        guard let quote = cursor.scalar else { return "" }
        if quote == "'" { report("a text stands in single quotes", remedy: "write double quotes") }
        cursor.advance()
        var view = String.UnicodeScalarView()
        while let scalar = cursor.scalar {
            if scalar == quote {
                cursor.advance()
                return String(view)
            }
            if scalar.isLineEnd { break }
            if scalar == "\\" {
                if let escaped = escape() { view.append(escaped) }
                continue
            }
            if scalar.value < 0x20 { reportControlCharacter(scalar) }
            view.append(scalar)
            cursor.advance()
        }
        throw stop(
            "the text that begins here doesn't end on its line",
            remedy: "close it with a double quote; a line break within it is “\\n”",
            at: start
        )
    }

    private mutating func reportControlCharacter(_ scalar: Unicode.Scalar) {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let escape = scalar == "\t" ? "\\t" : "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        report("a control character stands in a text", remedy: "write “\(escape)” or delete it")
    }

    /// The character of an escape sequence; `nil` if it is invalid, which is reported.
    private mutating func escape() -> Unicode.Scalar? {
        let place = cursor.place
        cursor.advance()
        guard let letter = cursor.scalar, !letter.isLineEnd else {
            report("a backslash stands at the end of the line", remedy: "delete it, or write “\\\\”", at: place)
            return nil
        }
        cursor.advance()
        switch letter {
        case "\"", "\\", "/": return letter
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u": return unicodeEscape(from: place)
        default:
            report(
                "“\\\(String(letter).shortened(to: 1))” is not an escape sequence of JSON",
                remedy: "write “\\\\” for a backslash",
                at: place
            )
            return nil
        }
    }

    private mutating func unicodeEscape(from place: SourcePlace) -> Unicode.Scalar? {
        guard let unit = hexadecimalUnit() else {
            report("four hexadecimal digits are due after “\\u”", remedy: "write for example “\\u00E9”", at: place)
            return nil
        }
        if let scalar = Unicode.Scalar(unit) { return scalar }
        let isLeading = (0xD800..<0xDC00).contains(unit)
        if isLeading, cursor.scalar == "\\", cursor.scalar(ahead: 1) == "u", let trailing = trailingSurrogate() {
            return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trailing) - 0xDC00))
        }
        report(
            "half of a surrogate pair stands alone",
            remedy: "write the character itself, or both halves: “\\uD83D\\uDE00”",
            at: place
        )
        return "\u{FFFD}"
    }

    /// The second half of a surrogate pair, if it comes next.
    private mutating func trailingSurrogate() -> UInt16? {
        var ahead = self
        ahead.cursor.advance()
        ahead.cursor.advance()
        guard let unit = ahead.hexadecimalUnit(), (0xDC00..<0xE000).contains(unit) else { return nil }
        cursor = ahead.cursor
        return unit
    }

    private mutating func hexadecimalUnit() -> UInt16? {
        var unit: UInt16 = 0
        for distance in 0..<4 {
            guard let scalar = cursor.scalar(ahead: distance), scalar.isASCII,
                let digit = Character(scalar).hexDigitValue
            else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        for _ in 0..<4 { cursor.advance() }
        return unit
    }
}
