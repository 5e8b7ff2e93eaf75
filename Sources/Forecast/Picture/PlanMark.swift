import FaultPlan
import Units

/// Something that happens at a moment of a plan.
package struct PlanMark: Hashable, Sendable {
    /// What a mark shows, in the order of the rows.
    package enum Kind: String, CaseIterable, Sendable {
        /// A client opens a connection. Marked in captures.
        case opened
        /// A connection ends before its transfer does.
        case lost
        /// A connection is refused, or not answered.
        case refused
        /// Another fault acts at a moment: a stall, a changed byte, an answer in the server's place.
        case fault
        /// The transfer is complete. Marked where no rate tells so.
        case complete
    }

    /// When it happens.
    package var moment: Moment
    /// What it shows.
    package var kind: Kind
    /// A sentence: "connection 2 is lost (cut) at 65,536".
    package var text: String
    /// The name of the fault, if it has a row of its own.
    package var fault: String?
}

/// A row of marks.
package struct PlanRow: Hashable, Sendable {
    package let kind: PlanMark.Kind
    /// The fault that acts; `nil` for every one.
    package let fault: String?

    /// The label: the name of the fault, or of its kind.
    package var label: String { fault?.visibleLine ?? kind.words.row }
}

extension PlanMark.Kind {
    /// The kind of an effect by the journal's word; `nil` for one that goes on from there, such as a delay, a rate or a
    /// silent outage.
    package init?(word: String) {
        switch word {
        case "delays", "limits", "slices", "loses", "silences": return nil
        case "opens": self = .opened
        case "closes", "resets", "falls silent": self = .lost
        case "refuses", "hangs": self = .refused
        default: self = .fault
        }
    }

    /// The label of the row, and what the legend says.
    package var words: (row: String, legend: String) {
        switch self {
        case .opened: ("opened", "a connection is opened")
        case .lost: ("lost", "a connection ends")
        case .refused: ("refused", "a connection is refused")
        case .fault: ("fault", "a fault acts")
        case .complete: ("done", "the transfer is complete")
        }
    }
}

/// Marks of a kind that lie so near each other that they are one sign: a band with their number.
package struct PlanMarks: Hashable, Sendable {
    /// Marks that are nearer than this part of the drawing's width are one.
    static let nearness = 0.05
    private static let textLimit = 5

    package let row: PlanRow
    package var kind: PlanMark.Kind { row.kind }
    /// The moments of the first mark and of the last.
    package let begin: Moment
    package private(set) var end: Moment
    package private(set) var count = 1
    private var texts: [String]

    init(_ mark: PlanMark, in row: PlanRow) {
        (self.row, begin, end) = (row, mark.moment, mark.moment)
        texts = [PlanMarks.line(mark)]
    }

    /// The most faults with a row each: 4. More share one.
    private static let rowLimit = 4

    /// The row of each mark: one for each kind, and for each of the faults that act, if they aren't many.
    private static func rows(of marks: [PlanMark]) -> [(row: PlanRow, mark: PlanMark)] {
        let faults = Set(marks.compactMap(\.fault))
        return marks.map { (PlanRow(kind: $0.kind, fault: (2...rowLimit).contains(faults.count) ? $0.fault : nil), $0) }
    }

    /// Joins the marks of each row, which are in the order of time, of a drawing of `span`.
    package static func joined(_ marks: [PlanMark], span: Duration) -> [PlanMarks] {
        let gap = Double(span.nanoseconds) * nearness
        var rows: [PlanRow: [PlanMarks]] = [:]
        var order: [PlanRow] = []
        for (row, mark) in PlanMarks.rows(of: marks) {
            guard var joined = rows[row], let last = joined.last else {
                rows[row] = [PlanMarks(mark, in: row)]
                order.append(row)
                continue
            }
            if Double((mark.moment - last.end).nanoseconds) < gap {
                joined[joined.count - 1].add(mark)
            } else {
                joined.append(PlanMarks(mark, in: row))
            }
            rows[row] = joined
        }
        return PlanMark.Kind.allCases.flatMap { kind in
            order.filter { $0.kind == kind }.flatMap { rows[$0] ?? [] }
        }
    }

    /// The label of a band: "64×"; `nil` for a single mark.
    package var label: String? { count > 1 ? "\(count)×" : nil }

    /// The first marks in words, a line each.
    package var tip: String {
        (texts + (count > texts.count ? ["and \(count - texts.count) more"] : [])).joined(separator: "\n")
    }

    private mutating func add(_ mark: PlanMark) {
        end = mark.moment
        count += 1
        if texts.count < PlanMarks.textLimit { texts.append(PlanMarks.line(mark)) }
    }

    private static func line(_ mark: PlanMark) -> String { "\(NearestText.time(mark.moment - .zero)): \(mark.text)" }
}
