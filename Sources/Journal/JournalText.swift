import FaultProfile

/// A problem of a journal, with its remedy.
package struct JournalProblem: Error {
    /// The line, from 1; `nil` if it is the journal as a whole.
    package var line: Int?
    package let what: String
    package var remedy = "delete the line, or write the journal again with squall run --journal"

    func at(_ line: Int) -> JournalProblem {
        var problem = self
        problem.line = line
        return problem
    }
}

/// The lines of a journal's text.
package struct JournalText {
    /// A line that isn't blank.
    struct Line {
        /// The line number, from 1.
        let number: Int
        let bytes: [UInt8]
        /// Whether the line end is missing, as after a crash or on a full disk.
        let isOpen: Bool

        func object() throws(JournalProblem) -> JSONNode {
            guard let node = try? JSONReader.firstValue(of: bytes, name: "line", isOnly: true),
                case .object = node.value
            else {
                throw JournalProblem(line: number, what: "this is no line of a journal: it is no object of JSON")
            }
            return node
        }
    }

    /// The first line, which is a journal's header.
    let header: Line
    /// The lines after the header, at most `ReplayPlan.eventLimit`.
    let lines: ArraySlice<Line>

    package init(_ bytes: [UInt8]) throws(JournalProblem) {
        var lines: [Line] = []
        var (number, start, isBlank) = (1, 0, true)
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "\n"):
                if !isBlank { lines.append(Line(number: number, bytes: Array(bytes[start..<index]), isOpen: false)) }
                (number, start, isBlank) = (number + 1, index + 1, true)
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
            default: isBlank = false
            }
            // The header is one more line.
            if lines.count > ReplayPlan.eventLimit + 1 { break }
        }
        // The rest after the last line end; empty in a complete journal.
        if !isBlank { lines.append(Line(number: number, bytes: Array(bytes[start...]), isOpen: true)) }
        guard let first = lines.first, let node = try? first.object(), node["event"]?.cell == "journal" else {
            throw JournalProblem(
                what: "doesn't begin with a journal's header",
                remedy: "write it with squall run --journal"
            )
        }
        (header, self.lines) = (first, lines.dropFirst())
        guard self.lines.count <= ReplayPlan.eventLimit else {
            throw JournalProblem(
                what: "has more than \(ReplayPlan.eventLimit) lines",
                remedy: "delete those that it can do without"
            )
        }
    }

    /// The objects of the lines after the header; a torn last line is left out.
    func objects() throws(JournalProblem) -> (nodes: [(line: Line, node: JSONNode)], torn: Int?) {
        var nodes: [(Line, JSONNode)] = []
        for line in lines {
            do throws(JournalProblem) {
                nodes.append((line, try line.object()))
            } catch {
                if line.isOpen { return (nodes, line.number) }
                throw error
            }
        }
        return (nodes, nil)
    }
}
