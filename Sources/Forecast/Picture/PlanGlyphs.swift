import Units

/// The characters of a plan as text.
package struct PlanGlyphs: Hashable, Sendable {
    /// The blocks of one to eight eighths of a row.
    let blocks: [Character]
    /// What may pass, above what arrives.
    let limit: Character
    /// The edge of a chart, and the beginning of a phase.
    let edge: Character
    /// The edge at a label.
    let tick: Character
    /// The corner of a chart.
    let corner: Character
    /// The axis of a chart, and a band.
    let line: Character
    /// The ends of a band.
    let bandBegin: Character
    let bandEnd: Character
    /// A time on the axis.
    let time: Character
    let lost: Character
    let refused: Character
    let fault: Character
    let complete: Character
    private let isASCII: Bool

    /// Blocks, lines and signs of Unicode.
    package static let unicode = PlanGlyphs(
        blocks: Array("▁▂▃▄▅▆▇█"),
        limit: "·",
        edge: "│",
        tick: "┤",
        corner: "┼",
        line: "─",
        bandBegin: "├",
        bandEnd: "┤",
        time: "╵",
        lost: "▼",
        refused: "×",
        fault: "◆",
        complete: "●",
        isASCII: false
    )

    /// ASCII alone. An outage that refuses has the sign “x”, so a refused connection has a capital letter.
    package static let ascii = PlanGlyphs(
        blocks: Array("...::::#"),
        limit: "-",
        edge: "|",
        tick: "+",
        corner: "+",
        line: "-",
        bandBegin: "<",
        bandEnd: ">",
        time: "'",
        lost: "v",
        refused: "X",
        fault: "*",
        complete: "@",
        isASCII: true
    )

    /// The block of a number of eighths, 8 if it is more.
    func block(_ eighths: Int) -> Character { blocks[min(8, eighths) - 1] }

    /// The sign of a single mark in a row.
    func sign(of kind: PlanMark.Kind) -> Character {
        switch kind {
        case .lost: lost
        case .refused: refused
        case .fault: fault
        case .complete: complete
        }
    }

    /// `text` in these characters. No-break spaces stay; characters without a counterpart become question marks.
    func text(_ text: String) -> String {
        guard isASCII else { return text }
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
