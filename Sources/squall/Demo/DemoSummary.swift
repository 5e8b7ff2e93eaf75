import Units

/// The report at the end of a demo transfer.
enum DemoSummary {
    /// The maximum number of lines shown; the rest is counted.
    private static let shownLines = 40

    /// The figures, the faults and both digests.
    static func text(of result: DemoResult, _ story: DemoStory, files: DemoFiles, received: [UInt8]) -> String {
        let seconds = Formatting.seconds(result.duration).trimmingPrefix { $0 == " " }
        let rate = Formatting.rate(bytes: result.bytes, in: result.duration)
        let repeated = result.bytesRepeated
        let resumed = story.resumptions.prefix(shownLines).map { Formatting.grouped($0) }.joined(separator: "; ")
        let isEqual = received == files.sentDigest && result.bytes == files.size
        return """

            received     \(Formatting.grouped(result.bytes)) bytes in \(seconds) (\(rate))
            connections  \(result.connections), \(result.resumptions) of them resumed\(resumed.isEmpty ? "" : " at \(resumed)")
            sent twice   \(Formatting.grouped(repeated)) bytes (\(Formatting.percent(repeated, of: result.bytes)))
            faults       \(faults(of: story))
            SHA-256      \(files.sentDigest.hexadecimal)  sent
                         \(received.hexadecimal)  received
            \(isEqual ? "equal: the file arrived byte for byte" : "NOT EQUAL")
            """
    }

    /// The outcome of a transfer whose file arrived, in a sentence.
    static func caption(of result: DemoResult, _ story: DemoStory, received: [UInt8]) -> String {
        let seconds = Formatting.seconds(result.duration).trimmingPrefix { $0 == " " }
        let resumed = story.resumptions.first.map { " and resumed at \(Formatting.grouped($0))" } ?? ""
        let digest = received.hexadecimal.prefix(16)
        return "arrived byte for byte in \(seconds), over \(result.connections) connections\(resumed); "
            + "SHA-256 \(digest)… on both sides"
    }

    /// "15" and, on further lines, each fault with its count.
    private static func faults(of story: DemoStory) -> String {
        let events = story.events
        let lines = events.prefix(shownLines).map { event in
            "\n             \(Formatting.grouped(Int64(event.count))) × \(event.fault)"
        }
        let hidden = events.count - lines.count
        return Formatting.grouped(Int64(story.faults)) + lines.joined() + (hidden > 0 ? "\n             …" : "")
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
