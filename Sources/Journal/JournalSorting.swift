import FaultPlan
import FaultProfile

/// The lines of a journal as `squall journal` prints them: in the order of the file or sorted, with or without their times
/// and the numbers of processes.
package struct JournalSorting {
    /// A line after the header.
    private struct Entry {
        let text: String
        /// The fault that acted; `nil` for lines without one.
        let event: RecordedFaultEvent?
    }

    /// The keys whose values differ in each run.
    private static let passing: Set = ["pid", "time"]

    private let isSorted: Bool
    private let hasTimes: Bool

    package init(isSorted: Bool, hasTimes: Bool) {
        self.isSorted = isSorted
        self.hasTimes = hasTimes
    }

    /// The lines of a journal, and the number of a torn last line that is left out. Sorted, those between two lines about a
    /// profile stay between them, and lines without a fault follow the others.
    package func lines(of journal: JournalText) throws(JournalProblem) -> (lines: [String], torn: Int?) {
        var result = [text(journal.header, try journal.header.object())]
        var entries: [Entry] = []
        let (nodes, torn) = try journal.objects()
        for (line, node) in nodes {
            if node["event"]?.cell == "profile" {
                result += sorted(entries) + [text(line, node)]
                entries = []
            } else {
                entries.append(Entry(text: text(line, node), event: node["event"] == nil ? event(node) : nil))
            }
        }
        return (result + sorted(entries), torn)
    }

    private func sorted(_ entries: [Entry]) -> [String] {
        guard isSorted else { return entries.map(\.text) }
        return entries.sorted { first, second in
            switch (first.event, second.event) {
            case (let left?, let right?) where left != right: left < right
            case (nil, _?): false
            case (_?, nil): true
            case (_?, _?), (nil, nil): first.text < second.text
            }
        }.map(\.text)
    }

    private func text(_ line: JournalText.Line, _ node: JSONNode) -> String {
        hasTimes
            ? String(decoding: line.bytes, as: UTF8.self)
            : node.compactText(without: JournalSorting.passing).visibleJSON
    }

    private func event(_ node: JSONNode) -> RecordedFaultEvent {
        RecordedFaultEvent(
            proxy: node["proxy"]?.cell ?? "",
            connection: (node["connection"]?.cell).flatMap(UInt64.init),
            direction: (node["direction"]?.cell).flatMap(Direction.init(rawValue:)),
            fault: node["fault"]?.cell ?? "",
            offset: (node["offset"]?.cell).flatMap(Int64.init),
            base: (node["of"]?.cell).flatMap(OffsetBase.init(rawValue:)) ?? .connection,
            request: (node["request"]?.cell).flatMap(Int64.init),
            what: node["what"]?.cell ?? ""
        )
    }
}
