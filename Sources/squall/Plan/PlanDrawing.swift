import FaultPlan
import FaultProfile
import Forecast
import Units

/// A plan as text: a column per interval of time, a row per quantity.
struct PlanDrawing {
    /// Fits into a terminal of 80 columns with labels on both sides.
    private static let columns = 60
    private static let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    private static let blocks = Array("▁▂▃▄▅▆▇█")
    /// The maximum number of phases and faults listed; the rest is counted.
    private static let listed = 40

    private let report: PlanReport
    private let forecast: TransferForecast

    init(_ report: PlanReport) {
        self.report = report
        forecast = report.forecast
    }

    /// The drawing and the prediction, without escape sequences.
    var text: String {
        let what = report.transfer.direction == .downstream ? "a download" : "an upload"
        let size = Formatting.size(report.transfer.bytes.bytes)
        var lines = [
            "\(report.profile.name): \(report.profile.summary)".visibleLine,
            "\(what) of \(size) with seed \(report.seed)", "",
        ]
        lines += rows
        lines += ["", legend, "", figures]
        return lines.joined(separator: "\n")
    }

    private var rows: [String] {
        var rows: [String] = []
        if !report.profile.phases.isEmpty { rows.append(row("phase", phaseMarks)) }
        let rates = (0..<PlanDrawing.columns).map(arrivalRate)
        let highest = report.timeline.highestRate.map { Double($0.bitsPerSecond) } ?? rates.max() ?? 0
        if report.timeline.highestRate != nil { rows.append(row("capacity", capacityMarks(highest))) }
        if isOutageAnywhere { rows.append(row("outage", outageMarks)) }
        rows.append(row("arrives", rates.map { PlanDrawing.block($0, of: highest) }))
        if !losses.isEmpty { rows.append(row("lost", lossMarks)) }
        rows.append(axis)
        var signs: [String] = []
        if highest > 0 { signs.append("█ is \(Formatting.rate(bitsPerSecond: highest))") }
        if !losses.isEmpty { signs.append("! a connection ends, x one is refused") }
        if let omission = report.omission { signs.append(omission) }
        if !signs.isEmpty { rows.append(row("", Array(signs.joined(separator: "; ")))) }
        return rows.map(\.trimmingSpaces)
    }

    private func row(_ label: String, _ marks: [Character]) -> String {
        label + String(repeating: " ", count: max(1, 10 - label.count)) + String(marks)
    }

    private func begin(of column: Int) -> Moment {
        let (width, rest) = report.shown.nanoseconds.quotientAndRemainder(dividingBy: Int64(PlanDrawing.columns))
        return Moment(nanoseconds: width * Int64(column) + rest * Int64(column) / Int64(PlanDrawing.columns))
    }

    private func column(of moment: Moment) -> Int {
        let part = Double(moment.nanoseconds) / Double(report.shown.nanoseconds)
        return min(PlanDrawing.columns - 1, max(0, Int(part * Double(PlanDrawing.columns))))
    }

    /// The segment in the middle of each column.
    private var segments: [NetworkTimeline.Segment?] {
        (0..<PlanDrawing.columns).map { column in
            let width = begin(of: column + 1) - begin(of: column)
            return report.timeline.segment(at: begin(of: column) + width / 2)
        }
    }

    private var phaseMarks: [Character] {
        segments.map { segment in
            guard let segment else { return " " }
            guard let phase = segment.phase else { return "·" }
            return phase < PlanDrawing.letters.count ? PlanDrawing.letters[phase] : "·"
        }
    }

    private func capacityMarks(_ highest: Double) -> [Character] {
        segments.map { segment in
            guard let conditions = segment?.conditions, conditions.outage == nil else { return " " }
            guard let rate = conditions.rate else { return "█" }
            return PlanDrawing.block(Double(rate.bitsPerSecond), of: highest)
        }
    }

    private var isOutageAnywhere: Bool { report.timeline.segments.contains { $0.conditions.outage != nil } }

    private var outageMarks: [Character] {
        var marks = [Character](repeating: " ", count: PlanDrawing.columns)
        for segment in report.timeline.segments {
            guard let outage = segment.conditions.outage else { continue }
            let mark: Character =
                switch outage {
                case .refuse: "x"
                case .silence: "~"
                case .reset: "!"
                }
            let last = column(of: segment.end.advanced(byNanoseconds: -1))
            for index in column(of: segment.begin)...max(column(of: segment.begin), last) { marks[index] = mark }
        }
        return marks
    }

    /// The average rate of arriving bits per second in a column.
    private func arrivalRate(_ column: Int) -> Double {
        let (begin, end) = (begin(of: column), begin(of: column + 1))
        let bytes = forecast.progress.offset(at: end) - forecast.progress.offset(at: begin)
        let seconds = Double((end - begin).nanoseconds) / 1e9
        return seconds > 0 ? Double(bytes) * 8 / seconds : 0
    }

    private var losses: [TransferForecast.Event] {
        forecast.events.filter { event in
            switch event.kind {
            case .lost, .refused, .unanswered: true
            case .opened, .struck: false
            }
        }
    }

    private var lossMarks: [Character] {
        var marks = [Character](repeating: " ", count: PlanDrawing.columns)
        for event in losses {
            let index = column(of: event.moment)
            if case .lost = event.kind { marks[index] = "!" } else if marks[index] == " " { marks[index] = "x" }
        }
        return marks
    }

    private static func block(_ value: Double, of highest: Double) -> Character {
        guard value > 0, highest > 0 else { return " " }
        let level = (value / highest * Double(blocks.count)).rounded(.up)
        return blocks[Int(min(Double(blocks.count), max(1, level))) - 1]
    }

    private var axis: String {
        var line = Array(String(repeating: " ", count: PlanDrawing.columns + 12))
        for quarter in 0...4 {
            let column = PlanDrawing.columns * quarter / 4
            let label = "╵" + PlanReport.seconds(begin(of: column) - .zero)
            for (offset, character) in label.enumerated() where column + offset < line.count {
                line[column + offset] = character
            }
        }
        return row("", line)
    }

    private var legend: String {
        let phases = report.profile.phases
        let direction = report.transfer.direction
        guard !phases.isEmpty else {
            return "always: " + PlanReport.sentence(.init(faults: report.profile.faults, direction: direction))
        }
        var lines = phases.prefix(PlanDrawing.listed).enumerated().map { index, phase in
            let mark = index < PlanDrawing.letters.count ? PlanDrawing.letters[index] : "·"
            let conditions = NetworkConditions(faults: report.profile.faults + phase.faults, direction: direction)
            let jitter = phase.jitter > .zero ? " ± \(phase.jitter.text)" : ""
            let length = phase.duration.map { $0.text + jitter } ?? "for ever"
            return "\(mark)  \(phase.name), \(length): \(PlanReport.sentence(conditions))"
        }
        if phases.count > lines.count { lines.append("   … and \(phases.count - lines.count) phases more") }
        return lines.joined(separator: "\n")
    }

    private var figures: String {
        let shown = forecast.faultCounts.prefix(PlanDrawing.listed)
        let faults = shown.map { "\n             \(Formatting.grouped(Int64($0.count))) × \($0.fault)" }.joined()
        let count = forecast.faultCounts.reduce(0) { $0 + $1.count }
        let more = forecast.faultCounts.count > shown.count ? "\n             …" : ""
        return """
            predicted    \(report.verdict)
            connections  \(report.connections)
            faults       \(Formatting.grouped(Int64(count)))\(faults)\(more)
            pauses       \(report.pauses)
            assumed      \(report.assumptions)
            """
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
