import TerminalDisplay
import TransferClient
import Units

/// The report at the end of a demo transfer.
struct DemoSummary {
    /// The maximum number of lines shown; the rest is counted.
    private static let shownLines = 40
    /// The maximum number of faults shown on a terminal; the rest is counted.
    private static let shownFaults = 8
    /// The column of the values.
    private static let indent = 13

    let result: TransferSummary
    /// The faults injected, with their counts.
    let faults: [(fault: String, count: Int)]
    /// The offsets at which the client resumed.
    let resumptions: [Int64]
    /// The SHA-256 of the file that was sent.
    let sent: String
    /// The SHA-256 of the file that arrived.
    let received: String
    let isEqual: Bool

    private var faultCount: Int { faults.reduce(0) { $0 + $1.count } }
    private var time: String { Formatting.seconds(result.duration).trimmed }
    private var rate: String { Formatting.rate(bytes: result.bytes, in: result.duration) }
    private var arrival: String { "\(Formatting.grouped(result.bytes)) bytes in \(time) (\(rate))" }
    private var verdict: String { isEqual ? "equal: the file arrived byte for byte" : "NOT EQUAL" }
    private var connections: String {
        let places = resumptions.prefix(Self.shownLines).map { Formatting.grouped($0) }.joined(separator: "; ")
        let resumed = places.isEmpty ? "" : " at \(places)"
        return "\(result.connections), \(result.resumptions) of them resumed\(resumed)"
    }
    private var repetitions: String {
        let share = Formatting.percent(result.bytesRepeated, of: result.bytes)
        return "\(Formatting.grouped(result.bytesRepeated)) bytes (\(share))"
    }

    /// The figures, the faults and both digests.
    var text: String {
        """

        received     \(arrival)
        connections  \(connections)
        sent twice   \(repetitions)
        faults       \(faultText)
        SHA-256      \(sent)  sent
                     \(received)  received
        \(verdict)
        """
    }

    /// "15" and, on further lines, each fault with its count.
    private var faultText: String {
        let lines = faults.prefix(Self.shownLines).map { event in
            "\n             \(Formatting.grouped(Int64(event.count))) × \(event.fault)"
        }
        let hidden = faults.count - lines.count
        return Formatting.grouped(Int64(faultCount)) + lines.joined() + (hidden > 0 ? "\n             …" : "")
    }

    /// The same for a terminal: lines of at most `columns`, not counting color sequences.
    func lines(columns: Int, _ abilities: TerminalAbilities) -> [String] {
        let glyphs: ProgressBar.Glyphs = abilities.hasUnicode ? .unicode : .ascii
        let room = columns - Self.indent
        func row(_ label: String, _ value: String) -> String {
            let head = label + String(repeating: " ", count: Self.indent - label.count)
            let text = TerminalText.cut(glyphs.safe(value), to: room, ellipsis: glyphs.ellipsis)
            return TerminalText.cut(head + text, to: columns, ellipsis: glyphs.ellipsis)
        }
        var lines = ["", row("received", arrival), row("connections", connections), row("sent twice", repetitions)]
        lines.append(row("faults", Formatting.grouped(Int64(faultCount))))
        lines += faults.prefix(Self.shownFaults).map { row("", "\(Formatting.grouped(Int64($0.count))) × \($0.fault)") }
        let hidden = faults.dropFirst(Self.shownFaults)
        if !hidden.isEmpty { lines.append(row("", "and \(hidden.count) other\(hidden.count == 1 ? "" : "s")")) }
        let digests = [(sent, "sent"), (received, "received")]
        for (label, (digest, whose)) in zip(["SHA-256", ""], digests) {
            // A digest that is cut shows as much of its beginning as there is room for.
            let least = room - "  received".count
            let shown =
                digest.count <= least ? digest : digest.prefix(max(8, least - glyphs.ellipsis.count)) + glyphs.ellipsis
            lines.append(row(label, "\(shown)  \(whose)"))
        }
        let color: TerminalColor = isEqual ? .green : .red
        let last = TerminalText.cut(verdict, to: columns, ellipsis: glyphs.ellipsis)
        return lines + [abilities.hasColors ? color.paint(last) : last]
    }

    /// The outcome of a transfer whose file arrived, in a sentence.
    static func caption(of result: TransferSummary, _ story: DemoStory, received: [UInt8]) -> String {
        let seconds = Formatting.seconds(result.duration).trimmed
        let resumed = story.resumptions.first.map { " and resumed at \(Formatting.grouped($0))" } ?? ""
        let digest = received.hexadecimal.prefix(16)
        return "arrived byte for byte in \(seconds), over \(result.connections) connections\(resumed); "
            + "SHA-256 \(digest)… on both sides"
    }

    /// The events, in order.
    static func story(of story: DemoStory) -> String {
        let (lines, omitted) = story.lines
        var text = lines.prefix(shownLines).joined(separator: "\n")
        let hidden = omitted + max(0, lines.count - shownLines)
        if hidden > 0 { text += "\n         … and \(hidden) lines more" }
        return text
    }
}
