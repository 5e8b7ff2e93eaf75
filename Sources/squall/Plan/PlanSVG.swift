import FaultPlan
import FaultProfile
import Forecast
import Units

/// A plan as a self-contained SVG in the reader's color scheme, with a title and a description for screen readers.
struct PlanSVG {
    private enum Size {
        static let width = 960.0
        static let height = 470.0
        static let left = 84.0
        static let right = 876.0
        static let top = 114.0
        static let bottom = 352.0
        /// The maximum number of average-width letters in a line.
        static let letters = (heading: 76, text: 118)
        /// A narrower outage is drawn without hatching.
        static let hatched = 8.0
    }

    private let report: PlanReport
    private let forecast: TransferForecast
    private let highestRate: Double

    init(_ report: PlanReport) {
        self.report = report
        forecast = report.forecast
        let average = Double(forecast.bytes) * 8 / max(1e-3, Double(forecast.duration.nanoseconds) / 1e9)
        highestRate = max(1, report.timeline.highestRate.map { Double($0.bitsPerSecond) } ?? average)
    }

    /// The document.
    var text: String {
        let title = "\(report.profile.name): \(report.profile.summary)".xmlLine
        let name = report.profile.name.cut(to: Size.letters.heading).xmlLine
        let summary = report.profile.summary.cut(to: Size.letters.text).xmlLine
        let description =
            "\(heading). Predicted: \(report.verdict). Connections: \(report.connections). "
            + "Pauses: \(report.pauses). Assumed: \(report.assumptions)."
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Size.width.short) \(Size.height.short)" role="img" \
            aria-labelledby="title description">
            <title id="title">\(title)</title>
            <desc id="description">\(description.xmlLine)</desc>
            \(PlanSVG.style)
            <rect class="paper" width="100%" height="100%"/>
            <text class="heading" x="\(Size.left.short)" y="32">\(name)</text>
            <text x="\(Size.left.short)" y="54">\(summary)</text>
            <text x="\(Size.left.short)" y="75">\(heading.xmlLine); predicted: \(report.verdict.xmlLine)</text>
            \((bands + [capacity] + outages + [progress] + losses + axes + legend).joined(separator: "\n"))
            </svg>

            """
    }

    private var heading: String {
        let what = report.transfer.direction == .downstream ? "Download" : "Upload"
        return "\(what) of \(Formatting.size(report.transfer.bytes.bytes)) with seed \(report.seed)"
    }

    private static let style = """
        <style>
        svg { --paper: #fff; --ink: #1d2329; --faint: #68727d; --band: #f0f3f6; --rate: #9cc3e6; --edge: #2b6cb0;
        --line: #1a7f4b; --bad: #c02b2b; font: 13px system-ui, sans-serif; fill: var(--ink); }
        @media (prefers-color-scheme: dark) { svg { --paper: #14181c; --ink: #e6eaee; --faint: #97a2ad;
        --band: #1e242a; --rate: #24507a; --edge: #7db6ea; --line: #5fd39a; --bad: #ff7b72; } }
        .paper { fill: var(--paper); } .heading { font-size: 17px; font-weight: 600; }
        .band { fill: none; pointer-events: all; } .odd { fill: var(--band); } .faint { fill: var(--faint); font-size: 12px; } .end { text-anchor: end; }
        .middle { text-anchor: middle; } .capacity { fill: var(--rate); stroke: var(--edge); stroke-width: 1;
        pointer-events: none; }
        .progress { fill: none; stroke: var(--line); stroke-width: 2.5; stroke-linejoin: round; }
        .outage { fill: url(#hatch); stroke: var(--bad); stroke-width: 0.5; pointer-events: all; }
        .hatch { stroke: var(--bad); } .short { fill: var(--bad); fill-opacity: 0.6; }
        .lost { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 4 3; } .refused { fill: var(--bad); }
        .axis { stroke: var(--faint); stroke-width: 1; }
        </style>
        <defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
        <line class="hatch" x1="0" y1="0" x2="0" y2="7" stroke-width="1.5"/></pattern></defs>
        """

    private func x(_ moment: Moment) -> Double {
        let part = Double(moment.nanoseconds) / Double(report.shown.nanoseconds)
        return Size.left + min(1, max(0, part)) * (Size.right - Size.left)
    }

    private func y(rate: Double) -> Double {
        Size.bottom - min(1, rate / highestRate) * (Size.bottom - Size.top)
    }

    private func y(offset: Int64) -> Double {
        Size.bottom - Double(offset) / Double(report.transfer.bytes.bytes) * (Size.bottom - Size.top)
    }

    /// The rectangle of an interval, at least `least` wide, and its tooltip.
    private func box(_ segment: NetworkTimeline.Segment, atLeast least: Double = 0) -> (place: String, tip: String) {
        let (begin, end) = (x(segment.begin), x(segment.end))
        let name = segment.phase.map { "\(report.profile.phases[$0].name): " } ?? ""
        let place =
            "x=\"\(begin.short)\" y=\"\(Size.top.short)\" width=\"\(max(least, end - begin).short)\" "
            + "height=\"\((Size.bottom - Size.top).short)\""
        return (place, "<title>\((name + PlanReport.sentence(segment.conditions)).xmlLine)</title>")
    }

    /// The phases as bands with their names.
    private var bands: [String] {
        var lines: [String] = []
        for (index, segment) in report.timeline.segments.enumerated() {
            let (place, tip) = box(segment)
            lines.append("<rect class=\"band\(index.isMultiple(of: 2) ? "" : " odd")\" \(place)>\(tip)</rect>")
            let (begin, end) = (x(segment.begin), x(segment.end))
            let room = Int((end - begin) / 7.5)
            if let phase = segment.phase, room >= 3 {
                let shown = report.profile.phases[phase].name.cut(to: room).xmlLine
                lines.append(label(shown, "middle", x: (begin + end) / 2, y: Size.top - 8))
            }
        }
        return lines
    }

    /// The outages, drawn in front of the capacity so that short ones are visible.
    private var outages: [String] {
        report.timeline.segments.filter { $0.conditions.outage != nil }.map { segment in
            let isShort = x(segment.end) - x(segment.begin) < Size.hatched
            let (place, tip) = box(segment, atLeast: 1.5)
            return "<rect class=\"outage\(isShort ? " short" : "")\" \(place)>\(tip)</rect>"
        }
    }

    private func label(_ text: String, _ alignment: String, x: Double, y: Double) -> String {
        "<text class=\"faint \(alignment)\" x=\"\(x.short)\" y=\"\(y.short)\">\(text)</text>"
    }

    /// The capacity, as an area.
    private var capacity: String {
        var path = "M\(Size.left.short) \(Size.bottom.short)"
        for segment in report.timeline.segments {
            let conditions = segment.conditions
            let rate = conditions.outage == nil ? conditions.rate.map { Double($0.bitsPerSecond) } ?? highestRate : 0
            path += "L\(x(segment.begin).short) \(y(rate: rate).short)H\(x(segment.end).short)"
        }
        return "<path class=\"capacity\" d=\"\(path)V\(Size.bottom.short)Z\"><title>capacity</title></path>"
    }

    /// The arrived bytes, as a line.
    private var progress: String {
        let points = forecast.progress.points.map { "\(x($0.moment).short) \(y(offset: $0.offset).short)" }
        let last = "\(x(.zero + forecast.duration).short) \(y(offset: forecast.bytes).short)"
        return "<path class=\"progress\" d=\"M\((points + [last]).joined(separator: "L"))\"><title>bytes that have "
            + "arrived</title></path>"
    }

    private var losses: [String] {
        forecast.events.compactMap { event in
            let place = x(event.moment).short
            let at = PlanReport.seconds(event.moment - .zero)
            switch event.kind {
            case .opened, .struck: return nil
            case .refused(let fault):
                return "<circle class=\"refused\" cx=\"\(place)\" cy=\"\(Size.bottom.short)\" r=\"3\"><title>\(at): "
                    + "refused by \(fault.xmlLine)</title></circle>"
            case .unanswered(let fault):
                return "<circle class=\"refused\" cx=\"\(place)\" cy=\"\(Size.bottom.short)\" r=\"3\"><title>\(at): "
                    + "not answered because of \(fault.xmlLine)</title></circle>"
            case .lost(let connection, let offset, let loss):
                return "<line class=\"lost\" x1=\"\(place)\" x2=\"\(place)\" y1=\"\(Size.top.short)\" "
                    + "y2=\"\(Size.bottom.short)\"><title>\(at): connection \(connection) is lost (\(loss.rawValue)) at "
                    + "\(Formatting.grouped(offset))</title></line>"
            }
        }
    }

    private var axes: [String] {
        var lines: [String] = []
        let ticks = TimeTicks(upTo: report.shown)
        for moment in ticks.moments {
            lines.append(label(ticks.text(moment), "middle", x: x(moment), y: Size.bottom + 20))
        }
        let isLimited = report.timeline.highestRate != nil
        if !isLimited, report.timeline.segments.contains(where: { $0.conditions.outage == nil }) {
            lines.append(label("no limit", "end", x: Size.left - 6, y: Size.top + 4))
        }
        for tick in 0...5 {
            let part = Double(tick) / 5
            let height = Size.bottom - part * (Size.bottom - Size.top) + 4
            let rate = Formatting.rate(bitsPerSecond: highestRate * part)
            let size = Formatting.size(Int64(Double(report.transfer.bytes.bytes) * part))
            if isLimited { lines.append(label(rate, "end", x: Size.left - 6, y: height)) }
            lines.append(label(size, "begin", x: Size.right + 6, y: height))
        }
        lines.append(
            "<path class=\"axis\" fill=\"none\" d=\"M\(Size.left.short) \(Size.top.short)V\(Size.bottom.short)"
                + "H\(Size.right.short)V\(Size.top.short)\"/>"
        )
        return lines
    }

    private var legend: [String] {
        let row = Size.bottom + 46
        return [
            "<rect class=\"capacity\" x=\"84\" y=\"\((row - 10).short)\" width=\"22\" height=\"11\"/>",
            "<text class=\"faint\" x=\"112\" y=\"\(row.short)\">capacity (left)</text>",
            "<path class=\"progress\" d=\"M230 \((row - 4).short)h22\"/>",
            "<text class=\"faint\" x=\"258\" y=\"\(row.short)\">arrived (right)</text>",
            "<rect class=\"outage\" x=\"376\" y=\"\((row - 10).short)\" width=\"22\" height=\"11\"/>",
            "<text class=\"faint\" x=\"404\" y=\"\(row.short)\">outage</text>",
            "<line class=\"lost\" x1=\"480\" x2=\"480\" y1=\"\((row - 12).short)\" y2=\"\((row + 2).short)\"/>",
            "<text class=\"faint\" x=\"490\" y=\"\(row.short)\">connection lost</text>",
            "<circle class=\"refused\" cx=\"612\" cy=\"\((row - 4).short)\" r=\"3\"/>",
            "<text class=\"faint\" x=\"622\" y=\"\(row.short)\">connection refused</text>",
            label("connections: \(report.connections.xmlLine)", "begin", x: Size.left, y: row + 26),
            label("pauses: \(report.pauses.xmlLine)", "begin", x: Size.left, y: row + 45),
        ] + (report.omission.map { [label($0, "begin", x: Size.left, y: row + 64)] } ?? [])
    }
}

extension String {
    /// The first characters, with an ellipsis if there are more than `limit`.
    fileprivate func cut(to limit: Int) -> String {
        count > limit ? "\(prefix(limit - 1))…" : self
    }
}
