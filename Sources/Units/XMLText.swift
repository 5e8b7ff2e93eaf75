extension String {
    /// This text on one line, for an element or an attribute in double quotes: markup is escaped, and control, format
    /// and line-breaking characters are shown as `\u{…}`.
    package var xmlLine: String { visibleLine.xmlEscaped }

    /// The same with the line feeds and tabs of this text, for an element.
    package var xmlLines: String { visibleLines.xmlEscaped }

    /// This text with `&`, `<`, `>` and `"` escaped and characters that XML 1.0 forbids (section 2.2) replaced by U+FFFD.
    private var xmlEscaped: String {
        var result = ""
        result.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\u{9}", "\u{A}", "\u{D}", "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"..."\u{10FFFF}":
                result.unicodeScalars.append(scalar)
            default: result += "\u{FFFD}"
            }
        }
        return result
    }
}

extension Double {
    /// This number with at most two decimals and no exponent, as in SVG.
    package var short: String {
        let hundredths = Int64((self * 100).rounded())
        let (whole, rest) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
        let sign = hundredths < 0 ? "-" : ""
        guard rest > 0 else { return "\(sign)\(whole)" }
        let digits = rest.isMultiple(of: 10) ? "\(rest / 10)" : rest < 10 ? "0\(rest)" : "\(rest)"
        return "\(sign)\(whole).\(digits)"
    }
}
