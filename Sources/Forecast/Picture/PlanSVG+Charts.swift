import Units

/// The charts, and the axes around them.
extension PlanSVG {
    /// What may pass as an area, and what arrives as a line with steps.
    var rates: [String] {
        guard let highest = picture.rates?.rates.last else { return [] }
        func y(_ rate: Double) -> Double { ratesBottom - min(1, rate / highest) * Size.rates }
        var parts: [String] = []
        if picture.hasCapacity {
            let levels = columns.map { column -> Double? in
                switch column.capacity {
                case .unknown: nil
                case .unlimited: top
                case .limited(let rate): y(rate)
                }
            }
            let path = steps(levels, base: ratesBottom)
            parts.append("<path class=\"capacity\" d=\"\(path)\"><title>may pass at most</title></path>")
        }
        if picture.legend.contains(.arrives) {
            let levels = columns.map { $0.rate.map(y) }
            parts.append("<path class=\"arrives\" d=\"\(steps(levels, base: nil))\"><title>arrives</title></path>")
        }
        return parts
    }

    /// The delays: an area from the least to the longest of a column, and a line of the means.
    var delays: [String] {
        guard let top = picture.delays?.delays.last else { return [] }
        func y(_ delay: Duration) -> Double {
            bottom - min(1, Double(delay.nanoseconds) / Double(top.nanoseconds)) * Size.delays
        }
        let ranges = columns.compactMap { column in
            column.delay.map { delay in
                let (begin, end) = (x(column.begin), x(column.end))
                return "M\(begin.short) \(y(delay.longest).short)H\(end.short)V\(y(delay.least).short)H\(begin.short)Z"
            }
        }
        let means = columns.map { $0.delay.map { y($0.mean) } }
        return [
            "<path class=\"range\" d=\"\(ranges.joined())\"/>",
            "<path class=\"delay\" d=\"\(steps(means, base: nil))\"><title>added delay</title></path>",
        ]
    }

    /// A line with a step for each column, interrupted where there is no value; with a base the area above that.
    private func steps(_ levels: [Double?], base: Double?) -> String {
        var (path, last) = ("", Double?.none)
        for (column, level) in zip(columns, levels) {
            if let level {
                if last != nil {
                    if level.short != last?.short { path += "V\(level.short)" }
                } else {
                    path += "M\(x(column.begin).short) \((base ?? level).short)"
                    if base != nil { path += "V\(level.short)" }
                }
                path += "H\(x(column.end).short)"
            } else if last != nil, let base {
                path += "V\(base.short)Z"
            }
            last = level
        }
        if last != nil, let base { path += "V\(base.short)Z" }
        return path
    }

    /// The axes: ticks of time for all parts, of rates and of delays.
    var axes: [String] {
        var lines: [String] = []
        for moment in picture.times.moments {
            let place = x(moment)
            lines.append(
                "<line class=\"grid\" x1=\"\(place.short)\" x2=\"\(place.short)\" y1=\"\(top.short)\" "
                    + "y2=\"\(bottom.short)\"/>"
            )
            lines.append(label(picture.times.text(moment), "middle", x: place, y: bottom + 18))
        }
        if let ticks = picture.rates, let top = ticks.rates.last {
            lines += ticks.rates.flatMap { rate in
                tick(ticks.text(rate), y: ratesBottom - rate / top * Size.rates)
            }
            lines += tick("0", y: ratesBottom)
        }
        if let ticks = picture.delays, let top = ticks.delays.last {
            let spacing = Size.delays / Double(ticks.delays.count)
            // Every second label, counted from the last, where all have no room.
            let shown = ticks.delays.indices.filter { spacing >= 14 || (ticks.delays.count - 1 - $0).isMultiple(of: 2) }
            lines += shown.flatMap { index in
                let part = Double(ticks.delays[index].nanoseconds) / Double(top.nanoseconds)
                return tick(ticks.text(ticks.delays[index]), y: bottom - part * Size.delays)
            }
            lines += tick("0", y: bottom)
        }
        return lines
    }

    private func tick(_ text: String, y: Double) -> [String] {
        [
            "<line class=\"grid\" x1=\"\(Size.left.short)\" x2=\"\(Size.right.short)\" y1=\"\(y.short)\" "
                + "y2=\"\(y.short)\"/>",
            label(text, "end", x: Size.left - 8, y: y + 4),
        ]
    }

    /// The text below the time axis, and the height of the drawing.
    var below: (lines: [String], height: Double) {
        var (lines, x, y) = ([String](), Size.left, bottom + 46)
        for item in picture.legend {
            let width = 26 + LabelWidth.of(item.text, size: Size.font)
            if x > Size.left, x + width > Size.right { (x, y) = (Size.left, y + 20) }
            lines.append(key(of: item, x: x, y: y))
            lines.append(label(item.text, "begin", x: x + 20, y: y))
            x += width + 14
        }
        if !picture.legend.isEmpty { y += 24 }
        let told = picture.figures.dropFirst().map { "\($0.label): \($0.lines.joined(separator: ", "))" }
        let texts = keyLines + told.filter { !$0.hasPrefix("assumed") } + picture.notes
        for text in texts.flatMap({ self.lines($0) }) {
            lines.append(line(text, y: y))
            y += 18
        }
        return (lines, y + 6)
    }

    /// The phases whose name has nowhere room, with their keys: "2 quick handover, 80 ms: outage by silence".
    private var keyLines: [String] {
        let named = Set(picture.runs.filter(hasRoom).map(\.phase))
        let phases = picture.phases.indices.filter { !named.contains($0) }
        let lines = phases.prefix(PlanSVG.listed).map { index in
            let phase = picture.phases[index]
            return "\(phase.key) \(phase.name), \(phase.text)"
        }
        return lines + (phases.count > lines.count ? ["… and \(phases.count - lines.count) more phases"] : [])
    }

    /// The most phases that are listed; the rest is counted.
    private static let listed = 12

    private func key(of item: PlanPicture.LegendItem, x: Double, y: Double) -> String {
        let box = "x=\"\(x.short)\" y=\"\((y - 10).short)\" width=\"14\" height=\"11\""
        return switch item {
        case .arrives: "<path class=\"arrives\" d=\"M\(x.short) \((y - 4).short)h14\"/>"
        case .capacity: "<rect class=\"capacity\" \(box)/>"
        case .outage(let mode): "<rect class=\"outage \(mode.rawValue)\" \(box)/>"
        case .delay: "<path class=\"delay\" d=\"M\(x.short) \((y - 4).short)h14\"/>"
        case .mark(let kind):
            "<g class=\"\(kind.rawValue)\"><path d=\"\(PlanSVG.sign(of: kind, x: x + 7, y: y - 4))\"/></g>"
        }
    }

    private static let colors = ColorScheme([
        ("paper", "#ffffff", "#161e26"), ("ink", "#15202b", "#e9eef3"), ("faint", "#56636f", "#9aa8b5"),
        ("band", "#f0f3f6", "#202a34"), ("grid", "#e3e4e6", "#343b44"), ("limit", "#cfe3f1", "#1f4560"),
        ("edge", "#08749b", "#4fc3ea"), ("line", "#17774a", "#5fd39a"), ("delay", "#8a5cd6", "#b48cff"),
        ("bad", "#c8202f", "#ff6b6b"),
    ])

    private static let rules = """
        svg { font: 13px system-ui, sans-serif; fill: var(--ink); }
        .paper { fill: var(--paper); } .heading { font-size: 17px; font-weight: 600; }
        .faint { fill: var(--faint); font-size: 12px; } .end { text-anchor: end; } .middle { text-anchor: middle; }
        .key { font-weight: 600; } .band { fill: none; pointer-events: all; } .odd { fill: var(--band); }
        .grid { stroke: var(--grid); } .capacity { fill: var(--limit); fill-opacity: .6; stroke: var(--edge); }
        .arrives, .delay { fill: none; stroke: var(--line); stroke-width: 2; stroke-linejoin: round; }
        .delay { stroke: var(--delay); } .range { fill: var(--delay); fill-opacity: .22; }
        .outage { stroke: var(--bad); stroke-width: 0.5; pointer-events: all; }
        .silence { fill: url(#hatch-silence); } .reset { fill: url(#hatch-reset); }
        .refuse { fill: url(#hatch-refuse); } .hatch { stroke: var(--bad); }
        .outage.short { fill: var(--bad); fill-opacity: 0.6; }
        .lost path { fill: var(--bad); } line.lost { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 4 3; }
        .refused path { fill: none; stroke: var(--bad); stroke-width: 2; } .fault path { fill: var(--edge); }
        .complete path { fill: var(--line); } .opened path { fill: none; stroke: var(--line); }
        .marks { fill: var(--bad); fill-opacity: .14; stroke: var(--bad); }
        .fault .marks { fill: var(--edge); fill-opacity: .14; stroke: var(--edge); }
        .count { font-size: 12px; font-weight: 600; }
        """

    static let style = """
        <style>
        \(colors.literal(rules))
        </style>
        <defs>
        \(hatch("silence", angle: 45))
        \(hatch("reset", angle: -45))
        \(hatch("refuse", angle: 0))
        </defs>
        """

    private static func hatch(_ name: String, angle: Int) -> String {
        "<pattern id=\"hatch-\(name)\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
            + "patternTransform=\"rotate(\(angle))\"><line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"7\" "
            + "stroke-width=\"1.5\"/></pattern>"
    }
}
