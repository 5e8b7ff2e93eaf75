import Units

/// Marks: a row for each kind. Neighbours that would cover each other share a mark.
extension TimelinePicture {
    /// Marks of a kind that are nearer than this share of the width are one.
    private static let nearness = 0.01
    private static let textLimit = 5
    /// The most characters of one of them.
    private static let characterLimit = 160

    /// Above this number of signs in a row they have no lines, which would hide the throughput, and are slim.
    private static let lineLimit = 30
    /// The same in a narrow plot.
    private static let narrowLineLimit = 10

    /// The marks of a kind, those together that share a sign.
    private func clusters(of kind: Timeline.Mark.Kind) -> [[Timeline.Mark]] {
        var clusters: [[Timeline.Mark]] = []
        for mark in timeline.marks where mark.kind == kind {
            if let first = clusters.last?.first, share(mark.time) - share(first.time) < TimelinePicture.nearness {
                clusters[clusters.count - 1].append(mark)
            } else {
                clusters.append([mark])
            }
        }
        return clusters
    }

    /// The signs, each with a line through the throughput.
    var markRows: [String] {
        kinds.enumerated().map { index, kind in
            let y = rowsTop + Double(index) * Size.row + 10
            let clusters = clusters(of: kind)
            let isDense = clusters.count > TimelinePicture.lineLimit
            let density = isDense ? " dense" : clusters.count > TimelinePicture.narrowLineLimit ? " many" : ""
            let signs = clusters.map { cluster in
                let x = place(cluster[0].time)
                let line =
                    isDense
                    ? "" : "<line x1=\"\(x)\" x2=\"\(x)\" y1=\"\(y.short)\" y2=\"\(plotBottom.short)\"/>"
                // A viewport of its own, so that a sign can be scaled at its place.
                let sign = "<svg x=\"\(x)\" y=\"\(y.short)\"><use href=\"#\(kind.rawValue)\"/></svg>"
                return "<g><title>\(tip(of: cluster, kind: kind).xmlLines)</title>\(line)\(sign)</g>"
            }
            return "<g class=\"\(kind.rawValue)\(density)\">\(signs.joined(separator: "\n"))</g>"
        }
    }

    private func tip(of cluster: [Timeline.Mark], kind: Timeline.Mark.Kind) -> String {
        let texts = cluster.prefix(TimelinePicture.textLimit).map { mark in
            "\(ReportText.thousandths(mark.time)) s: \(mark.text.shortened(to: TimelinePicture.characterLimit))"
        }
        guard cluster.count > 1 else { return texts[0] }
        let rest = cluster.count - texts.count
        let count = "\(ReportText.count(cluster.count, kind.rawValue)):"
        return ([count] + texts + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: "\n")
    }
}

/// What a reader is told beside the picture.
extension TimelinePicture {
    /// An item of the legend. The key is the class of the sign: that of an area, a mark or a phase.
    typealias LegendItem = (key: String, text: String)

    /// The most phases in a legend.
    private static let phaseLimit = 12

    /// The legend, with what the picture has.
    var legend: [LegendItem] {
        var items: [LegendItem] = []
        if throughput.highest.downstream > 0 { items.append(("down", "down, to the client")) }
        if throughput.highest.upstream > 0 { items.append(("up", "up, to the server")) }
        items += kinds.map { ($0.rawValue, $0.rawValue) }
        for name in namesEveryPhase ? [] : phaseNames.prefix(TimelinePicture.phaseLimit) {
            items.append(("p\(color(ofPhase: name))", name.shortened(to: 40)))
        }
        return items
    }

    /// The picture in words.
    var description: String {
        let total = timeline.samples.reduce((down: Int64(0), up: Int64(0))) {
            ($0.down.addingSaturated($1.downstream), $0.up.addingSaturated($1.upstream))
        }
        var sentences = [
            "Throughput over \(ReportText.time(span))",
            "Downstream: \(Formatting.size(total.down)), at most "
                + Formatting.rate(bitsPerSecond: throughput.highest.downstream),
            "Upstream: \(Formatting.size(total.up)), at most "
                + Formatting.rate(bitsPerSecond: throughput.highest.upstream),
        ]
        if !phaseNames.isEmpty {
            let names = phaseNames.prefix(TimelinePicture.phaseLimit).map { $0.shortened(to: 40) }
            sentences.append("Phases: \(names.joined(separator: ", "))")
        }
        for kind in kinds {
            let count = timeline.marks.count { $0.kind == kind }
            sentences.append("\(ReportText.count(count, kind.rawValue)) marked")
        }
        return (sentences + omissions).joined(separator: ". ") + "."
    }

    /// What the picture leaves out, a sentence each without its end.
    var omissions: [String] {
        var sentences: [String] = []
        if timeline.omittedMarks > 0, let last = timeline.marks.last {
            let marks = ReportText.count(timeline.omittedMarks, "mark")
            sentences.append("\(marks) after \(ReportText.time(last.time)) left out")
        }
        if timeline.omittedPhases > 0 {
            let most = timeline.omittedPhases < Timeline.omissionLimit ? "" : "at least "
            sentences.append("\(most)\(ReportText.count(timeline.omittedPhases, "further phase")) left out")
        }
        let names = phaseNames.count - TimelinePicture.phaseLimit
        if names > 0, !namesEveryPhase {
            sentences.append("\(ReportText.count(names, "further name")) of phases not in the legend")
        }
        let proxies = Set(timeline.phases.map(\.proxy)).count - lanes.count
        if proxies > 0 {
            sentences.append("the phases of \(proxies) further \(proxies == 1 ? "proxy" : "proxies") left out")
        }
        return sentences
    }
}
