import Units

/// The timeline of a run as parts of an SVG: the labels on the left, and the plot.
///
/// Places along the time are shares of the plot's width in percent, so that the plot takes any width while its text
/// keeps its size. From top to bottom: a lane of phases for each proxy, a row for each kind of mark, the throughput
/// with downstream above and upstream below the zero line, and the times.
struct TimelinePicture {
    enum Size {
        static let lane = 24.0
        static let row = 18.0
        static let plot = 176.0
        static let times = 24.0
        static let font = 12.0
        /// The room above the highest rate.
        static let headroom = 8.0
    }

    static let laneLimit = 8
    /// The widths of the plot at which labels appear: a label of the class `c2` needs the third, and gives way to none
    /// of the class `n2`, its shorter form.
    static let widths = [0.0, 220, 320, 420, 540, 700, 900]

    let timeline: Timeline
    /// The width of the plot, if it is known.
    let width: Double?
    /// The names of proxies that have phases, in the order of their first phases.
    let lanes: [String]
    /// The names of phases, in the order of their first appearance.
    let phaseNames: [String]
    let kinds: [Timeline.Mark.Kind]
    let throughput: Throughput
    /// The time that the width of the plot stands for, above zero.
    let span: Duration

    /// The picture of a timeline. `width` is the width of the plot, which decides what labels have room; `nil` if it is
    /// whatever the page has, so that labels get classes.
    init(_ timeline: Timeline, width: Double? = nil) {
        self.timeline = timeline
        self.width = width
        var (lanes, names): ([String], [String]) = ([], [])
        for phase in timeline.phases {
            if !lanes.contains(phase.proxy) { lanes.append(phase.proxy) }
            if !names.contains(phase.name) { names.append(phase.name) }
        }
        self.lanes = Array(lanes.prefix(TimelinePicture.laneLimit))
        phaseNames = names
        kinds = Timeline.Mark.Kind.allCases.filter { kind in timeline.marks.contains { $0.kind == kind } }
        throughput = Throughput(timeline)
        span = max(timeline.duration, timeline.samples.last?.time ?? .zero, .milliseconds(1))
    }

    /// Whether there is nothing to draw.
    var isEmpty: Bool { throughput.isEmpty && timeline.phases.isEmpty && timeline.marks.isEmpty }

    var rowsTop: Double { Double(lanes.count) * Size.lane }
    var plotTop: Double { rowsTop + Double(kinds.count) * Size.row + (kinds.isEmpty ? 4 : 2) }
    var plotBottom: Double { plotTop + Size.plot }
    var height: Double { plotBottom + Size.times }

    /// The share of the width at a time, from 0 to 1.
    func share(_ time: Duration) -> Double {
        min(1, max(0, Double(time.nanoseconds) / Double(span.nanoseconds)))
    }

    func place(_ time: Duration) -> String { percent(share(time)) }

    func percent(_ share: Double) -> String { "\((share * 100).short)%" }

    /// The color of a phase: phases of one name have one color.
    func color(ofPhase name: String) -> Int { (phaseNames.firstIndex(of: name) ?? 0) % ReportStyle.phaseColors }

    var plot: String {
        (bands + grid + [areas] + columns + [zeroLine] + phaseLabels + markRows + times).joined(separator: "\n")
    }

    private var grid: [String] {
        throughput.ticks.map { tick in
            let y = (plotTop + tick.y).short
            return "<line class=\"grid\" x2=\"100%\" y1=\"\(y)\" y2=\"\(y)\"/>"
        }
    }

    private var zeroLine: String {
        let y = (plotTop + throughput.zero).short
        let line = "<line class=\"axis\" x2=\"100%\" y1=\"\(y)\" y2=\"\(y)\"/>"
        guard throughput.isEmpty else { return line }
        let above = (plotTop + throughput.zero - 10).short
        return line + "\n<text class=\"faint middle\" x=\"50%\" y=\"\(above)\">no byte passed</text>"
    }

    /// The throughput as areas of steps, in a viewport that is stretched to the width.
    private var areas: String {
        let paths = throughput.paths { share($0) * 1_000 }
        return "<svg y=\"\(plotTop.short)\" width=\"100%\" height=\"\(Size.plot.short)\" viewBox=\"0 0 1000 "
            + "\(Size.plot.short)\" preserveAspectRatio=\"none\">"
            + paths.map { "<path class=\"\($0.name)\" d=\"\($0.path)\"/>" }.joined() + "</svg>"
    }

    /// Rectangles without color that tell the throughput.
    private var columns: [String] {
        throughput.columns(atMost: 100).map { column in
            let (left, right) = (share(column.start), share(column.end))
            return "<rect class=\"column\" x=\"\(percent(left))\" y=\"\(plotTop.short)\" "
                + "width=\"\(percent(right - left))\" height=\"\(Size.plot.short)\">"
                + "<title>\(column.text.xmlLine)</title></rect>"
        }
    }

    private var times: [String] {
        let ticks = TimeTicks(upTo: span)
        let bottom = plotBottom.short
        return ticks.moments.enumerated().flatMap { index, moment -> [String] in
            let x = place(moment - .zero)
            // In a narrow plot every other label has room.
            let hidden = width == nil && !index.isMultiple(of: 2) ? " c4" : ""
            return [
                "<line class=\"axis\" x1=\"\(x)\" x2=\"\(x)\" y1=\"\(bottom)\" y2=\"\((plotBottom + 5).short)\"/>",
                "<text class=\"faint middle\(hidden)\" x=\"\(x)\" y=\"\((plotBottom + 19).short)\">"
                    + "\(ticks.text(moment))</text>",
            ]
        }
    }

    /// The labels on the left: lanes, rows and rates, which end at `right`.
    func labels(endingAt right: Double) -> String {
        var lines: [String] = []
        func add(_ text: String, y: Double, tip: String? = nil) {
            let title = tip.map { "<title>\($0.xmlLine)</title>" } ?? ""
            let place = "x=\"\(right.short)\" y=\"\(y.short)\""
            lines.append("<text class=\"faint end\" \(place)>\(title)\(text.xmlLine)</text>")
        }
        for (index, lane) in lanes.enumerated() {
            let shown = LabelWidth.cut(lane.visibleLine, to: right, size: Size.font) ?? "…"
            add(shown, y: Double(index) * Size.lane + 15, tip: "the phases of \(lane)")
        }
        for (index, kind) in kinds.enumerated() {
            add(kind == .fault ? "faults" : "resumed", y: rowsTop + Double(index) * Size.row + 14)
        }
        for tick in throughput.ticks { add(tick.text, y: plotTop + tick.y + 4) }
        add("0", y: plotTop + throughput.zero + 4)
        return lines.joined(separator: "\n")
    }
}
