import FaultPlan
import FaultProfile
import Units

/// What a drawing of a plan shows. The text, the SVG and the JSON of `squall plan` are made from this one value.
package struct PlanPicture: Sendable {
    /// A figure below the drawing.
    package struct Figure: Hashable, Sendable {
        package var label: String
        /// A line or more.
        package var lines: [String]
    }

    /// An item of the legend.
    package enum LegendItem: Hashable, Sendable {
        case arrives
        case capacity
        case outage(Outage.Mode)
        case mark(PlanMark.Kind)
        case delay
    }

    /// A rate above this many times the highest limit is cut off, since the limits would be a line at the bottom.
    private static let headroom = 4.0
    /// The least and the most columns of a drawing without a width of its own, one for each 100 ms between them.
    private static let columnCounts = 60...792

    package let name: String
    package let summary: String
    /// "A download of 64 MiB with seed 7".
    package let heading: String
    /// The time of the drawing, from the start of the proxy's clock; above zero.
    package let span: Duration
    package let phases: [PlanPhase]
    /// "1 Mbit/s; 20 ms": what holds all the time in a profile without phases.
    package let conditions: String?
    package let runs: [PlanPhaseRun]
    package let outages: [PlanOutage]
    package private(set) var marks: [PlanMarks]
    package let figures: [Figure]
    /// The ticks of the axis of rates; `nil` if there is no rate to draw.
    package private(set) var rates: RateTicks?
    /// The ticks of the axis of delays; `nil` if nothing is delayed.
    package private(set) var delays: DelayTicks?
    package let times: TimeTicks
    /// What the drawing leaves out, a sentence each without its end.
    package private(set) var notes: [String] = []
    /// Whether the capacity is drawn: whether a rate is limited at any time.
    package private(set) var hasCapacity = false

    let timeline: NetworkTimeline
    let forecast: TransferForecast?
    /// The connections of the transfer, in order: when each is opened, and when it is lost or over.
    package let connections: [(begin: Moment, end: Moment)]

    /// Makes the picture of a prediction.
    package init(_ report: PlanReport) {
        let what = report.transfer.direction == .downstream ? "A download" : "An upload"
        let forecast = report.forecast
        self.init(
            profile: report.profile,
            heading: "\(what) of \(NearestText.size(report.transfer.bytes.bytes)) with seed \(report.seed)",
            span: report.shown,
            timeline: report.timeline,
            direction: report.transfer.direction,
            marks: forecast.events.compactMap(PlanPicture.mark),
            figures: PlanPicture.figures(of: report),
            forecast: forecast
        )
        if forecast.events.count == TransferForecast.eventLimit, let last = forecast.events.last {
            notes.append("events after \(NearestText.time(last.moment - .zero)) aren't marked: there are too many")
        }
    }

    /// Makes the picture of a run that happened.
    package init(_ recording: PlanRecording) {
        let end = (recording.events.last?.moment ?? .zero) - .zero
        let span = PlanReport.shown(recording.profile, until: end)
        let marks = recording.events.compactMap { event in
            PlanMark.Kind(word: event.what).map { kind in
                let connection = event.connection.map { "connection \($0): " } ?? ""
                let offset = event.offset.map { " at \(Formatting.grouped($0))" } ?? ""
                return PlanMark(
                    moment: event.moment,
                    kind: kind,
                    text: "\(connection)\(event.fault) \(event.what)\(offset)",
                    fault: kind == .fault ? event.fault : nil
                )
            }
        }
        self.init(
            profile: recording.profile,
            heading: recording.heading,
            span: span,
            timeline: NetworkTimeline(
                of: recording.profile,
                direction: recording.direction,
                until: .zero + span,
                seed: recording.seed
            ),
            direction: recording.direction,
            marks: marks,
            figures: PlanPicture.figures(of: recording, end: end),
            forecast: nil
        )
        if let note = recording.note { notes.append(note) }
    }

    private init(
        profile: Profile,
        heading: String,
        span: Duration,
        timeline: NetworkTimeline,
        direction: Direction,
        marks: [PlanMark],
        figures: [Figure],
        forecast: TransferForecast?
    ) {
        (name, summary, self.heading, self.span) = (profile.name, profile.summary, heading, span)
        (self.timeline, self.forecast, self.figures) = (timeline, forecast, figures)
        phases = profile.phases.enumerated().map { index, phase in
            let jitter = phase.jitter > .zero ? " ± \(phase.jitter.text)" : ""
            let length = phase.duration.map { $0.text + jitter } ?? "for ever"
            let conditions = NetworkConditions(faults: profile.faults + phase.faults, direction: direction)
            return PlanPhase(key: "\(index + 1)", name: phase.name, text: "\(length): \(conditions.sentence)")
        }
        let always = NetworkConditions(faults: profile.faults, direction: direction)
        conditions = profile.phases.isEmpty ? always.sentence : nil
        runs = timeline.intervals(of: \.phase).map { PlanPhaseRun(phase: $0.value, begin: $0.begin, end: $0.end) }
        outages = timeline.intervals(of: \.conditions.outage).map {
            PlanOutage(mode: $0.value, begin: $0.begin, end: $0.end)
        }
        self.marks = PlanMarks.joined(marks, span: span)
        times = TimeTicks(upTo: span)
        connections = forecast.map { PlanPicture.connections(of: $0) } ?? []
        measure()
        if rates == nil, let forecast, forecast.outcome == .complete {
            let end = PlanMark(moment: .zero + forecast.duration, kind: .complete, text: "the transfer is complete")
            self.marks.append(PlanMarks(end, in: PlanRow(kind: .complete, fault: nil)))
        }
        if let end = timeline.cutAt {
            let time = NearestText.time(end - .zero)
            notes.append("what comes after \(time) isn't drawn: the profile changes too often")
        }
    }

    /// Finds the ends of the axes.
    private mutating func measure() {
        var (limit, highest, longest) = (0.0, 0.0, Duration.zero)
        for column in columns() {
            if case .limited(let rate) = column.capacity { limit = max(limit, rate) }
            highest = max(highest, column.rate ?? 0)
            longest = max(longest, column.delay?.longest ?? .zero)
        }
        hasCapacity = limit > 0
        let top = limit > 0 ? min(max(limit, highest), limit * PlanPicture.headroom) : highest
        if top > 0 {
            let ticks = RateTicks(covering: top, count: 5)
            rates = ticks
            if let end = ticks.rates.last, highest > end {
                notes.append(
                    "rates above \(ticks.text(end)) are cut off: \(NearestText.rate(bitsPerSecond: highest)) at most"
                )
            }
        }
        if longest > .zero { delays = DelayTicks(covering: longest, count: 4) }
    }

    /// The columns of a drawing without a width of its own: as many as there is time for, and half as many as often as a
    /// line of their rates would go up and down so often that it is an area.
    package func columns() -> [PlanColumn] {
        let (least, most) = (PlanPicture.columnCounts.lowerBound, PlanPicture.columnCounts.upperBound)
        var count = min(max(Int(span.nanoseconds / 100_000_000), least), most)
        while true {
            let columns = columns(count)
            guard count > least, PlanPicture.isRestless(columns) else { return columns }
            count = max(least, count / 2)
        }
    }

    /// Whether the rates change by more than a fifth of the highest from a column to the next, in the mean.
    private static func isRestless(_ columns: [PlanColumn]) -> Bool {
        let rates = columns.compactMap(\.rate)
        let highest = rates.max() ?? 0
        let changes = zip(rates, rates.dropFirst()).reduce(0.0) { $0 + abs($1.0 - $1.1) }
        return changes > highest * Double(rates.count) / 5
    }

    /// The parts of the drawing, in the order of the legend.
    package var legend: [LegendItem] {
        var items: [LegendItem] = []
        if rates != nil, forecast.map({ $0.bytes > 0 }) ?? false { items.append(.arrives) }
        if hasCapacity { items.append(.capacity) }
        for mode in [Outage.Mode.silence, .reset, .refuse] where outages.contains(where: { $0.mode == mode }) {
            items.append(.outage(mode))
        }
        for kind in kinds { items.append(.mark(kind)) }
        if delays != nil { items.append(.delay) }
        return items
    }

    package var kinds: [PlanMark.Kind] { PlanMark.Kind.allCases.filter { kind in marks.contains { $0.kind == kind } } }

    /// The rows of marks, from top to bottom.
    package var rows: [PlanRow] {
        marks.map(\.row).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }

    /// The place of a moment in the drawing, from 0 to 1.
    package func share(_ moment: Moment) -> Double {
        min(1, max(0, Double(moment.nanoseconds) / Double(span.nanoseconds)))
    }
}

extension PlanPicture.LegendItem {
    /// "a connection ends".
    package var text: String {
        switch self {
        case .arrives: "arrives"
        case .capacity: "may pass at most"
        case .outage(let mode): "outage by \(mode.rawValue)"
        case .mark(let kind): kind.words.legend
        case .delay: "added delay"
        }
    }
}
