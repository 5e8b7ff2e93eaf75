import Units

/// Phases: a lane of named rectangles for each proxy.
extension TimelinePicture {
    /// The most characters of a tooltip's text.
    private static let tipLimit = 160

    private struct Lane {
        var index: Int
        var phase: Timeline.Phase
        var left: Double
        var right: Double
    }

    private var segments: [Lane] {
        timeline.phases.compactMap { phase in
            guard let index = lanes.firstIndex(of: phase.proxy) else { return nil }
            return Lane(index: index, phase: phase, left: share(phase.start), right: share(max(phase.start, phase.end)))
        }
    }

    /// The rectangles. Those of a single proxy go on behind the throughput.
    var bands: [String] {
        segments.flatMap { segment -> [String] in
            let phase = segment.phase
            let color = color(ofPhase: phase.name)
            let x = percent(segment.left)
            let width = percent(max(0.001, segment.right - segment.left))
            let owner = lanes.count > 1 ? "\(phase.proxy): " : ""
            let tip =
                (owner + phase.name).shortened(to: TimelinePicture.tipLimit)
                + ", \(ReportText.time(phase.start)) to \(ReportText.time(phase.end))"
            // The edges of slivers would leave nothing of their color.
            let edges = segment.right - segment.left < 0.03 ? " thin" : ""
            let lane =
                "<rect class=\"lane p\(color)\(edges)\" x=\"\(x)\" y=\"\((Double(segment.index) * Size.lane).short)\" "
                + "width=\"\(width)\" height=\"20\"><title>\(tip.xmlLine)</title></rect>"
            guard lanes.count == 1 else { return [lane] }
            let top = segment.index + 20
            return [
                "<rect class=\"band p\(color)\" x=\"\(x)\" y=\"\(top)\" width=\"\(width)\" "
                    + "height=\"\((plotBottom - Double(top)).short)\"/>",
                lane,
            ]
        }
    }

    /// The names of phases, where they have room.
    var phaseLabels: [String] {
        segments.flatMap { segment -> [String] in
            let share = segment.right - segment.left
            guard share > 0 else { return [] }
            let place =
                "x=\"\(percent(segment.left + share / 2))\" y=\"\((Double(segment.index) * Size.lane + 14.5).short)\""
            return labels(of: segment.phase.name.visibleLine, share: share).map { label in
                "<text class=\"middle name\(label.name)\" \(place)>\(label.text.xmlLine)</text>"
            }
        }
    }

    /// What is shown of a name in a share of the width, each text with the class of the widths in which it is shown.
    private func labels(of name: String, share: Double) -> [(text: String, name: String)] {
        func cut(at width: Double) -> String? {
            LabelWidth.cut(name, to: share * width - TimelinePicture.padding, size: Size.font)
        }
        if let width { return cut(at: width).map { [($0, "")] } ?? [] }
        let widths = TimelinePicture.widths
        guard let text = cut(at: widths[widths.count - 1]) else { return [] }
        let needed = (LabelWidth.of(text, size: Size.font) + TimelinePicture.padding) / share
        guard let index = widths.firstIndex(where: { $0 >= needed }) else { return [] }
        guard index > 1 else { return [(text, "")] }
        return [(text, " c\(index)")] + (cut(at: widths[1]).map { [($0, " n\(index)")] } ?? [])
    }

    /// Whether the plot, whose width is known, shows every name of a phase in full.
    var namesEveryPhase: Bool {
        guard width != nil else { return false }
        let shown = segments.flatMap { segment in
            labels(of: segment.phase.name.visibleLine, share: segment.right - segment.left).map(\.text)
        }
        return Set(phaseNames.map(\.visibleLine)).isSubset(of: shown)
    }

    /// The room beside a name.
    private static let padding = 8.0
}
