import Units

/// The throughput of a run as steps: downstream above, upstream below a zero line.
struct Throughput {
    /// An interval with a constant rate.
    struct Step {
        var start: Duration
        var end: Duration
        var downstream: Int64
        var upstream: Int64

        func rate(_ bytes: Int64) -> Double {
            Double(max(0, bytes)) * 8 / max(1e-6, Double((end - start).nanoseconds) / 1e9)
        }
    }

    /// `y` counts from the top of the plot.
    typealias Tick = (y: Double, text: String)

    let steps: [Step]
    /// The highest rates, in bits per second.
    let highest: (downstream: Double, upstream: Double)
    /// The zero line, from the top of the plot.
    let zero: Double
    /// The ticks above and below the zero line.
    let ticks: [Tick]
    /// Whether no byte passed.
    var isEmpty: Bool { highest.downstream == 0 && highest.upstream == 0 }
    /// The height of 1 bit/s.
    private let scale: Double

    init(_ timeline: Timeline) {
        steps = Throughput.steps(of: timeline.samples)
        highest = steps.reduce((0, 0)) { (max($0.0, $1.rate($1.downstream)), max($0.1, $1.rate($1.upstream))) }
        let (down, up) = highest
        // A direction with few bytes keeps enough room to be seen.
        let least = max(down, up) * 0.07
        let above = down > 0 ? max(down, least) : 0
        let below = up > 0 ? max(up, least) : 0
        let extent = above + below
        let plot = TimelinePicture.Size.plot
        let headroom = TimelinePicture.Size.headroom
        guard extent > 0 else {
            (scale, zero, ticks) = (0, plot / 2, [])
            return
        }
        let room = plot - (above > 0 ? headroom : 0) - (below > 0 ? headroom : 0)
        scale = room / extent
        zero = below > 0 ? plot - headroom - below * scale : plot
        let rates = RateTicks(upTo: max(above, below), extent: extent, count: 6)
        let (scale, zero) = (scale, zero)
        let upper = rates.rates.filter { $0 <= above }.map { Tick(y: zero - $0 * scale, text: rates.text($0)) }
        let lower = rates.rates.filter { $0 <= below }.map { Tick(y: zero + $0 * scale, text: rates.text($0)) }
        ticks = upper + lower
    }

    private static func steps(of samples: [Timeline.Sample]) -> [Step] {
        var (steps, start): ([Step], Duration) = ([], .zero)
        for sample in samples where sample.time > start {
            steps.append(
                Step(start: start, end: sample.time, downstream: sample.downstream, upstream: sample.upstream)
            )
            start = sample.time
        }
        // A rate over the short rest at the end would be the highest by accident.
        if steps.count >= 2 {
            let (last, other) = (steps[steps.count - 1], steps[steps.count - 2])
            if last.end - last.start < (other.end - other.start) / 2 {
                steps.removeLast()
                steps[steps.count - 1].end = last.end
                steps[steps.count - 1].downstream += last.downstream
                steps[steps.count - 1].upstream += last.upstream
            }
        }
        return steps
    }

    /// The outlines of the areas that there are, each with its class. They begin and end at the zero line.
    func paths(x: (Duration) -> Double) -> [(name: String, path: String)] {
        let all = [
            ("down", highest.downstream, { (step: Step) in zero - step.rate(step.downstream) * scale }),
            ("up", highest.upstream, { (step: Step) in zero + step.rate(step.upstream) * scale }),
        ]
        return all.filter { $0.1 > 0 }.map { name, _, y in
            var (path, level) = ("M0 \(rounded(zero))", rounded(zero))
            for step in steps {
                let next = rounded(y(step))
                if next != level { path += "V\(next)" }
                level = next
                path += "H\(rounded(x(step.end)))"
            }
            return (name, "\(path)V\(rounded(zero))")
        }
    }

    private func rounded(_ value: Double) -> String { ((value * 10).rounded() / 10).short }

    /// The throughput in words, neighbours added up so that there are at most `limit`.
    func columns(atMost limit: Int) -> [(start: Duration, end: Duration, text: String)] {
        let width = max(1, (steps.count + limit - 1) / limit)
        return stride(from: 0, to: steps.count, by: width).map { first in
            let all = steps[first..<min(first + width, steps.count)]
            let (start, end) = (all[first].start, all[all.endIndex - 1].end)
            let down = Formatting.rate(bytes: all.reduce(0) { $0 + $1.downstream }, in: end - start)
            let up = Formatting.rate(bytes: all.reduce(0) { $0 + $1.upstream }, in: end - start)
            let times = "\(ReportText.time(start)) to \(ReportText.time(end))"
            return (start, end, "\(times): down \(down), up \(up)")
        }
    }
}
