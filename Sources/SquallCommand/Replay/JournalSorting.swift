import FaultPlan
import FaultProfile
import Replay

/// The lines of a journal as `squall journal` prints them: in the order of the file or sorted, with or without their times.
struct JournalSorting {
    /// A line after the header.
    private struct Entry {
        let text: String
        /// The fault that acted; `nil` for lines that count omitted ones.
        let event: RecordedFaultEvent?
    }

    let isSorted: Bool
    let hasTimes: Bool

    /// The lines of the journal at `path`. Sorted, those between two lines about a profile stay between them, and lines that
    /// count omitted ones follow the others.
    func lines(of path: String) throws(CommandFailure) -> [String] {
        let lines = try JournalFile.lines(path)
        guard let first = lines.first, let header = try? node(first), header["event"]?.cell == "journal" else {
            throw JournalFile.noHeader(path)
        }
        try JournalFile.checkCount(of: lines.dropFirst(), path)
        var result = [text(first, header)]
        var entries: [Entry] = []
        for line in lines.dropFirst() {
            let node: JSONNode
            do throws(JournalProblem) {
                node = try self.node(line)
            } catch {
                if line.isOpen {
                    Console.error("\(path):\(line.number): the last line is torn off, and left out")
                    continue
                }
                throw JournalFile.failure(error, at: line, path)
            }
            if node["event"]?.cell == "profile" {
                result += sorted(entries) + [text(line, node)]
                entries = []
            } else {
                entries.append(Entry(text: text(line, node), event: node["event"] == nil ? event(node) : nil))
            }
        }
        return result + sorted(entries)
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

    private func text(_ line: JournalFile.Line, _ node: JSONNode) -> String {
        hasTimes ? String(decoding: line.text, as: UTF8.self) : node.compactText(without: "time").visibleJSON
    }

    private func node(_ line: JournalFile.Line) throws(JournalProblem) -> JSONNode {
        guard let node = try? JSONReader.firstValue(of: Array(line.text), name: "line"), case .object = node.value
        else {
            throw JournalProblem(what: "this is no line of a journal: it is no object of JSON")
        }
        return node
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
