import FaultPlan
import Units

/// Something that happens at a moment of a plan.
package struct PlanMark: Hashable, Sendable {
    /// What a mark shows, in the order of the rows.
    package enum Kind: String, CaseIterable, Sendable {
        /// A connection ends before its transfer does.
        case lost
        /// A connection is refused, or not answered.
        case refused
        /// Another fault acts at a moment: a stall, a changed byte, an answer in the server's place.
        case fault
    }

    /// When it happens.
    package var moment: Moment
    /// What it shows.
    package var kind: Kind
    /// A sentence: "connection 2 is lost (cut) at 65,536".
    package var text: String
}

extension PlanMark.Kind {
    /// The kind of an effect by the journal's word; `nil` for one that goes on from there, such as a delay, a rate or a
    /// silent outage.
    package init?(word: String) {
        switch word {
        case "delays", "limits", "slices", "loses", "silences": return nil
        case "closes", "resets", "falls silent": self = .lost
        case "refuses", "hangs": self = .refused
        default: self = .fault
        }
    }

    /// The label of the row, and what the legend says.
    package var words: (row: String, legend: String) {
        switch self {
        case .lost: ("lost", "a connection ends")
        case .refused: ("refused", "a connection is refused")
        case .fault: ("fault", "a fault acts")
        }
    }
}

/// Marks of a kind that lie so near each other that they are one sign: a band with their number.
package struct PlanMarks: Hashable, Sendable {
    /// Marks that are nearer than this part of the drawing's width are one.
    static let nearness = 0.05
    /// The most texts in a tooltip.
    private static let textLimit = 5

    package let kind: PlanMark.Kind
    /// The moments of the first mark and of the last.
    package let begin: Moment
    package private(set) var end: Moment
    package private(set) var count = 1
    private var texts: [String]

    private init(_ mark: PlanMark) {
        (kind, begin, end) = (mark.kind, mark.moment, mark.moment)
        texts = [PlanMarks.line(mark)]
    }

    /// Joins the marks of each kind, which are in the order of time, of a drawing of `span`.
    package static func joined(_ marks: [PlanMark], span: Duration) -> [PlanMarks] {
        let gap = Double(span.nanoseconds) * nearness
        return PlanMark.Kind.allCases.flatMap { kind in
            var joined: [PlanMarks] = []
            for mark in marks where mark.kind == kind {
                if let last = joined.last, Double((mark.moment - last.end).nanoseconds) < gap {
                    joined[joined.count - 1].add(mark)
                } else {
                    joined.append(PlanMarks(mark))
                }
            }
            return joined
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
