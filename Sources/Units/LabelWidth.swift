/// The width of a label, estimated from above for every font that a browser takes for `system-ui`.
package enum LabelWidth {
    /// The width of `text` in the unit of `size`, the font's size.
    package static func of(_ text: String, size: Double) -> Double {
        text.unicodeScalars.reduce(0) { $0 + width($1) } * size
    }

    /// `text`, or as much of its begin as has room beside an ellipsis; `nil` if that is less than three characters.
    package static func cut(_ text: String, to room: Double, size: Double) -> String? {
        if of(text, size: size) <= room { return text }
        var shown = ""
        for character in text {
            if of(shown + String(character) + "…", size: size) > room { break }
            shown.append(character)
        }
        return shown.count < 3 ? nil : shown + "…"
    }

    /// DejaVu Sans is the widest of the usual fonts.
    private static func width(_ scalar: Unicode.Scalar) -> Double {
        switch scalar {
        case "i", "j", "l", "I", "'", ".", ",", ":", ";", "|", " ": 0.36
        case "f", "r", "t", "(", ")", "[", "]", "/", "-": 0.42
        case "m", "w", "M", "W", "%", "@", "…": 1.02
        case "A"..."Z", "+", "=", "<", ">", "~", "#": 0.85
        case "\u{0}"..."\u{2FF}": 0.65
        default: 1.2
        }
    }
}
