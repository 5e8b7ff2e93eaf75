/// Fits text into the columns of a terminal. `cut` takes any text; for the others each character is one column wide, as in
/// text that `ProgressBar.Glyphs.safe` makes.
package enum TerminalText {
    /// `text`, cut after a word and with an ellipsis if it is wider than `columns`. Only a word that is too wide itself is
    /// cut inside, and never inside the escape of a control character, such as `\u{1b}`. Characters that a terminal may draw
    /// two columns wide count as two.
    package static func cut(_ text: String, to columns: Int, ellipsis: String = "…") -> String {
        guard head(of: text, columns).endIndex < text.endIndex else { return text }
        let room = columns - ellipsis.count
        guard room > 0 else { return String(head(of: text, max(0, columns))) }
        let head = head(of: text, room)
        guard text[head.endIndex...].first != " ", let space = head.lastIndex(of: " "), !head[..<space].isBlank else {
            return head + ellipsis
        }
        return head[..<space] + ellipsis
    }

    /// The longest beginning of `text` that is certainly no wider than `columns`.
    private static func head(of text: String, _ columns: Int) -> Substring {
        var (end, width) = (text.startIndex, 0)
        while end < text.endIndex {
            let escape = controlEscape(at: text[end...])
            let next = escape?.endIndex ?? text.index(after: end)
            width += escape?.count ?? cells(of: text[end])
            guard width <= columns else { break }
            end = next
        }
        return text[..<end]
    }

    /// The escape of a control character that `text` begins with, such as `\u{1b}`; `nil` if it begins with something else.
    private static func controlEscape(at text: Substring) -> Substring? {
        guard text.hasPrefix("\\u{"), let end = text.prefix(12).firstIndex(of: "}") else { return nil }
        let digits = text[..<end].dropFirst(3)
        return !digits.isEmpty && digits.allSatisfy(\.isLowercaseHexDigit) ? text[...end] : nil
    }

    /// The columns that a character may take.
    private static func cells(of character: Character) -> Int { ProgressBar.Glyphs.isNarrow(character) ? 1 : 2 }

    /// `fields`, separated by spaces, in lines of at most `columns`. The lines after the first start with `indent` spaces. A
    /// field isn't broken, not even one that is wider than a line.
    package static func lines(of fields: [String], to columns: Int, indent: Int = 2) -> [String] {
        var lines: [String] = []
        var line = fields.first ?? ""
        for field in fields.dropFirst() {
            let longer = line + " " + field
            if line.isBlank || head(of: longer, columns).endIndex == longer.endIndex {
                line = longer
            } else {
                lines.append(line)
                line = String(repeating: " ", count: indent) + field
            }
        }
        return lines + [line]
    }

    /// The first of `fields`, and each of the others for which there is room, in order.
    package static func line(
        _ fields: [String],
        separator: String = "  ",
        to columns: Int,
        ellipsis: String = "…"
    ) -> String {
        guard let first = fields.first else { return "" }
        var line = cut(first, to: columns, ellipsis: ellipsis)
        for field in fields.dropFirst() where line.count + separator.count + field.count <= columns {
            line += separator + field
        }
        return line
    }

    /// `text` in lines of at most `columns`, broken between words. The lines after the first start with `indent` spaces.
    /// Only a word that is wider than a line is broken.
    package static func wrapped(_ text: String, to columns: Int, indent: Int = 0) -> [String] {
        let blanks = String(repeating: " ", count: min(indent, max(0, columns - 1)))
        var lines: [String] = []
        var line = String(text.prefix { $0 == " " })
        var isEmpty = true
        for word in text.split(separator: " ") {
            var word = word
            if !isEmpty, line.count + 1 + word.count <= columns {
                line += " " + word
                continue
            }
            if !isEmpty {
                lines.append(line)
                line = blanks
            }
            while line.count + word.count > columns, columns > line.count {
                let part = word.prefix(columns - line.count)
                lines.append(line + part)
                word = word.dropFirst(part.count)
                line = blanks
            }
            line += word
            isEmpty = false
        }
        return lines + [line]
    }

    /// `text` with spaces in front, `width` wide.
    package static func right(_ text: String, in width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// The columns that `text` takes, without the sequences of its colors.
    static func width(_ text: String) -> Int {
        var width = 0
        var isInSequence = false
        for character in text {
            if character == "\u{1B}" {
                isInSequence = true
            } else if isInSequence {
                isInSequence = character != "m"
            } else {
                width += 1
            }
        }
        return width
    }
}

extension StringProtocol {
    fileprivate var isBlank: Bool { allSatisfy { $0 == " " } }
}

extension Character {
    fileprivate var isLowercaseHexDigit: Bool { ("0"..."9").contains(self) || ("a"..."f").contains(self) }
}
