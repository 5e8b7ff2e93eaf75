extension ProgressBar.Glyphs {
    /// Replaces characters that aren't one column wide by question marks.
    package func safe(_ text: String) -> String {
        var safe = ""
        for character in text.visibleLine {
            switch character {
            case " "..."~" where character.isASCII: safe.append(character)
            case "“" where isASCII, "”" where isASCII: safe.append("\"")
            case "…" where isASCII: safe += ellipsis
            case "—" where isASCII: safe.append("-")
            case "±" where isASCII: safe += "+-"
            case "×" where isASCII: safe.append(times)
            default: safe.append(!isASCII && Self.isNarrow(character) ? character : "?")
            }
        }
        return safe
    }

    /// Whether a character is certainly one column wide: Latin, Greek, Cyrillic and punctuation.
    static func isNarrow(_ character: Character) -> Bool {
        guard character.unicodeScalars.count == 1, let scalar = character.unicodeScalars.first else { return false }
        return (0x20...0x7E).contains(scalar.value) || (0xA1...0x2FF).contains(scalar.value)
            || (0x370...0x481).contains(scalar.value)
            || (0x2010...0x2027).contains(scalar.value)
    }
}
