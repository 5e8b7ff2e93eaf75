/// Fits text into the columns of a terminal, where each character is one column wide; `ProgressBar.Glyphs.safe` makes such text.
enum TerminalText {
    /// `text`, cut after a word and with an ellipsis if it is wider than `columns`. Only a word that is too wide itself is
    /// cut inside.
    static func cut(_ text: String, to columns: Int, ellipsis: String = "…") -> String {
        guard text.count > columns else { return text }
        let room = columns - ellipsis.count
        guard room > 0 else { return String(text.prefix(max(0, columns))) }
        let head = text.prefix(room)
        guard text.dropFirst(room).first != " ", let space = head.lastIndex(of: " "), !head[..<space].isBlank else {
            return head + ellipsis
        }
        return head[..<space] + ellipsis
    }

    /// The first of `fields`, and each of the others for which there is room, in order.
    static func line(
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
    static func wrapped(_ text: String, to columns: Int, indent: Int = 0) -> [String] {
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
    static func right(_ text: String, in width: Int) -> String {
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
