import Units

/// The characters of a plan as text.
package enum PlanGlyphs: Sendable {
    /// Blocks, lines and signs of Unicode.
    case unicode
    /// ASCII alone. An outage that refuses has the sign “x”, so a refused connection has a capital letter.
    case ascii

    private func either(_ unicode: Character, _ ascii: Character) -> Character { self == .ascii ? ascii : unicode }

    /// What may pass, above what arrives.
    var limit: Character { either("·", "-") }
    /// The edge of a chart, and the beginning of a phase.
    var edge: Character { either("│", "|") }
    /// The edge at a label.
    var tick: Character { either("┤", "+") }
    var corner: Character { either("┼", "+") }
    /// The axis of a chart, and a band.
    var line: Character { either("─", "-") }
    /// The ends of a band.
    var bandBegin: Character { either("├", "<") }
    var bandEnd: Character { either("┤", ">") }
    var time: Character { either("╵", "'") }

    private static let blocks: [PlanGlyphs: [Character]] = [.unicode: Array("▁▂▃▄▅▆▇█"), .ascii: Array("...::::#")]

    /// The block of a number of eighths of a row, 8 if it is more.
    func block(_ eighths: Int) -> Character { PlanGlyphs.blocks[self, default: []][min(8, eighths) - 1] }

    func sign(of kind: PlanMark.Kind) -> Character {
        switch kind {
        case .opened: either("△", "^")
        case .lost: either("▼", "v")
        case .refused: either("×", "X")
        case .fault: either("◆", "*")
        case .complete: either("●", "@")
        }
    }

    /// `text` in these characters. No-break spaces stay; characters without a counterpart become question marks.
    func text(_ text: String) -> String {
        guard self == .ascii else { return text }
        var result = ""
        for character in text {
            switch character {
            case "“", "”": result.append("\"")
            case "…": result += "..."
            case "±": result += "+-"
            case "×": result.append("x")
            case "µ": result.append("u")
            case "–", "—": result.append("-")
            case "\u{A0}": result.append(character)
            default: result.append(character.isASCII ? character : "?")
            }
        }
        return result
    }
}
