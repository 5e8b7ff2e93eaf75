import FaultPlan
import TerminalDisplay
import TransferClient
import TransferReports
import Units

/// Tells a transfer of the demo on a terminal: phases, what faults do, and what the client does about it. Each method returns
/// the fields of a line, the most important one first, or none for what happens all the time.
struct DemoNarration {
    /// A fault or a reaction is told this often in a phase; the display counts all of them.
    static let repetitions = 2
    /// The most different faults and reactions that are told in a phase.
    static let kindLimit = 64

    private var counts: [String: Int] = [:]

    /// A phase begins, with what it does.
    mutating func phase(_ name: String, _ figures: [String]) -> [String] {
        counts = [:]
        return ["— \(name)"] + figures
    }

    /// A fault acts.
    mutating func fault(_ entry: JournalEntry) -> [String] {
        switch entry.effect {
        case .delays, .limits, .loses, .slices: return []
        default: break
        }
        guard isNews("\(entry.fault) \(entry.effect.word)") else { return [] }
        return ["\(entry.fault) \(entry.effect.word)"]
            + [
                entry.offset.map { "at \(Formatting.grouped($0))" }, entry.connection.map { "connection \($0)" },
                entry.direction?.rawValue,
            ].compactMap(\.self)
    }

    /// The client continues at an offset.
    mutating func resumed(at offset: Int64) -> [String] {
        isNews("resumed") ? ["client: resumed at \(Formatting.grouped(offset))"] : []
    }

    /// The client reports something else.
    mutating func client(_ event: TransferEvent) -> [String] {
        switch event {
        case .retrying(let delay, let cause, _): retrying(delay, cause)
        case .resumable: []
        default: other(event.sentence)
        }
    }

    private mutating func other(_ sentence: String?) -> [String] {
        guard let sentence, isNews(sentence) else { return [] }
        return ["client: \(sentence)"]
    }

    private mutating func retrying(_ delay: Duration, _ cause: some CustomStringConvertible) -> [String] {
        let parts = cause.description.split(separator: ": ", maxSplits: 1).map(String.init)
        guard let first = parts.first, isNews(first) else { return [] }
        let seconds = Formatting.seconds(delay).trimmed
        let next = delay > .zero ? "next attempt in \(seconds)" : "next attempt at once"
        return ["client: \(first)", next] + parts.dropFirst()
    }

    private mutating func isNews(_ kind: String) -> Bool {
        guard counts[kind] != nil || counts.count < Self.kindLimit else { return false }
        counts[kind, default: 0] += 1
        return counts[kind, default: 0] <= Self.repetitions
    }

    /// A line of `fields` after the time, at most `columns` wide.
    static func line(_ time: String, _ fields: [String], _ abilities: TerminalAbilities, columns: Int) -> String {
        let glyphs: ProgressBar.Glyphs = abilities.hasUnicode ? .unicode : .ascii
        let room = columns - time.count - 2
        let text = TerminalText.line(fields.map(glyphs.safe), separator: ", ", to: room, ellipsis: glyphs.ellipsis)
        return TerminalText.cut("\(time)  \(text)", to: columns, ellipsis: glyphs.ellipsis)
    }
}
