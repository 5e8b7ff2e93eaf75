import FaultPlan
import FaultProfile
import Forecast
import Units

/// A plan as SVG: one file that needs nothing else, light or dark as the reader's system is, with a title and a
/// description for those who can't see it.
struct PlanSVG {
    private enum Size {
        static let width = 960.0
        static let height = 430.0
        static let left = 84.0
        static let right = 876.0
        static let top = 92.0
        static let bottom = 330.0
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
        let title = "\(report.profile.name): \(report.profile.summary)".escaped
        let description =
            "\(heading). Predicted: \(report.verdict). Connections: \(report.connections). "
            + "Pauses: \(report.pauses). Assumed: \(report.assumptions)."
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Size.width.short) \(Size.height.short)" role="img" \
            aria-labelledby="title description">
            <title id="title">\(title)</title>
            <desc id="description">\(description.escaped)</desc>
            \(PlanSVG.style)
            <rect class="paper" width="100%" height="100%"/>
            <text class="heading" x="\(Size.left.short)" y="32">\(title)</text>
            <text x="\(Size.left.short)" y="54">\(heading.escaped); predicted: \(report.verdict.escaped)</text>
            \((bands + [capacity, progress] + losses + axes + legend).joined(separator: "\n"))
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
        .band { fill: var(--band); } .faint { fill: var(--faint); font-size: 12px; } .end { text-anchor: end; }
        .middle { text-anchor: middle; } .capacity { fill: var(--rate); stroke: var(--edge); stroke-width: 1; }
        .progress { fill: none; stroke: var(--line); stroke-width: 2.5; stroke-linejoin: round; }
        .outage { fill: url(#hatch); stroke: var(--bad); stroke-width: 0.5; } .hatch { stroke: var(--bad); }
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

    /// The phases as bands with their names, and the outages on them.
    private var bands: [String] {
        var lines: [String] = []
        for (index, segment) in report.timeline.segments.enumerated() {
            let (begin, end) = (x(segment.begin), x(segment.end))
            let name = segment.phase.map { report.profile.phases[$0].name } ?? ""
            let tip =
                "<title>\((name.isEmpty ? "" : "\(name): ").escaped)"
                + "\(PlanReport.sentence(segment.conditions).escaped)</title>"
            let box =
                "x=\"\(begin.short)\" y=\"\(Size.top.short)\" width=\"\((end - begin).short)\" "
                + "height=\"\((Size.bottom - Size.top).short)\""
            if !index.isMultiple(of: 2) { lines.append("<rect class=\"band\" \(box)>\(tip)</rect>") }
            if segment.conditions.outage != nil { lines.append("<rect class=\"outage\" \(box)>\(tip)</rect>") }
            let room = Int((end - begin) / 7.5)
            if !name.isEmpty, room >= 3 {
                let shown = name.count > room ? "\(name.prefix(room - 1))…" : name
                let middle = ((begin + end) / 2).short
                lines.append(
                    "<text class=\"faint middle\" x=\"\(middle)\" y=\"\((Size.top - 8).short)\">\(shown.escaped)</text>"
                )
            }
        }
        return lines
    }

    /// What may pass, as an area.
    private var capacity: String {
        var path = "M\(Size.left.short) \(Size.bottom.short)"
        for segment in report.timeline.segments {
            let conditions = segment.conditions
            let rate = conditions.outage == nil ? conditions.rate.map { Double($0.bitsPerSecond) } ?? highestRate : 0
            path += "L\(x(segment.begin).short) \(y(rate: rate).short)H\(x(segment.end).short)"
        }
        return "<path class=\"capacity\" d=\"\(path)V\(Size.bottom.short)Z\"><title>capacity</title></path>"
    }

    /// What has arrived, as a line.
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
                    + "refused by \(fault.escaped)</title></circle>"
            case .lost(let connection, let offset, let loss):
                return "<line class=\"lost\" x1=\"\(place)\" x2=\"\(place)\" y1=\"\(Size.top.short)\" "
                    + "y2=\"\(Size.bottom.short)\"><title>\(at): connection \(connection) is lost (\(loss.rawValue)) at "
                    + "\(Formatting.grouped(offset))</title></line>"
            }
        }
    }

    private var axes: [String] {
        var lines: [String] = []
        for tick in 0...5 {
            let part = Double(tick) / 5
            let moment = Moment(nanoseconds: Int64(Double(report.shown.nanoseconds) * part))
            let (column, height) = (x(moment).short, (Size.bottom - part * (Size.bottom - Size.top)))
            let time = PlanReport.seconds(moment - .zero)
            let rate = BitRate(bitsPerSecond: Int64(highestRate * part)).rounded
            let size = Formatting.size(Int64(Double(report.transfer.bytes.bytes) * part))
            lines.append(
                "<text class=\"faint middle\" x=\"\(column)\" y=\"\((Size.bottom + 20).short)\">\(time)</text>"
            )
            lines.append(
                "<text class=\"faint end\" x=\"\((Size.left - 6).short)\" y=\"\((height + 4).short)\">\(rate)</text>"
            )
            lines.append(
                "<text class=\"faint\" x=\"\((Size.right + 6).short)\" y=\"\((height + 4).short)\">\(size)</text>"
            )
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
            "<text class=\"faint\" x=\"84\" y=\"\((row + 24).short)\">connections \(report.connections.escaped); "
                + "pauses \(report.pauses.escaped)</text>",
        ]
    }
}

extension Double {
    /// At most two decimals, no exponent.
    fileprivate var short: String {
        let hundredths = Int64((self * 100).rounded())
        let (whole, rest) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
        let sign = hundredths < 0 ? "-" : ""
        guard rest > 0 else { return "\(sign)\(whole)" }
        return "\(sign)\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }
}

extension String {
    /// This text within XML 1.0: its marks escaped, and what XML can't hold replaced.
    fileprivate var escaped: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\u{9}", "\u{A}", "\u{D}": result += " "
            case "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"..."\u{10FFFF}":
                result.unicodeScalars.append(scalar)
            default: result += "\u{FFFD}"
            }
        }
        return result
    }
}
