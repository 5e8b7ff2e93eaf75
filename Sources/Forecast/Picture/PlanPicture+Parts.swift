import FaultPlan
import FaultProfile
import Units

extension PlanPicture {
    /// The most faults that are listed; the rest is counted.
    private static let faultLimit = 40

    /// Divides the time of the drawing into `count` columns, one or more.
    package func columns(_ count: Int) -> [PlanColumn] {
        let edges = (0...count).map { index in
            let part = Double(span.nanoseconds) * Double(index) / Double(count)
            return Moment(nanoseconds: index == count ? span.nanoseconds : Int64(part))
        }
        return columns(between: edges)
    }

    /// Divides the time of the drawing into columns of `width`.
    package func columns(each width: Duration) -> [PlanColumn] {
        guard span > .zero else { return [] }
        let last = (span.nanoseconds - 1) / width.nanoseconds
        let begins = (0...last).map { $0 * width.nanoseconds }
        let end = (last * width.nanoseconds).addingSaturated(width.nanoseconds)
        return columns(between: (begins + [end]).map(Moment.init(nanoseconds:)))
    }

    private func columns(between edges: [Moment]) -> [PlanColumn] {
        var (opening, sample) = (0, 0)
        return zip(edges, edges.dropFirst()).compactMap { begin, end in
            guard begin < end else { return nil }
            while opening + 1 < connections.count, connections[opening + 1].begin <= begin { opening += 1 }
            let capacity = timeline.capacity(
                from: begin,
                to: end,
                opened: connections.isEmpty ? .zero : connections[opening].begin
            )
            var column = PlanColumn(begin: begin, end: end, capacity: capacity)
            guard let forecast, begin < .zero + forecast.duration else { return column }
            // The last column ends with the transfer.
            let last = min(end, .zero + forecast.duration)
            column.bytes = forecast.progress.bytes(from: begin.nanoseconds, to: end.nanoseconds)
            column.rate = column.bytes * 8 / (Double(max(1, (last - begin).nanoseconds)) / 1e9)
            if column.bytes > 0 { column.delay = delay(until: end, since: begin, &sample) }
            return column
        }
    }

    /// The delays measured between two moments; without one what lies between the measurements before and after.
    private func delay(
        until end: Moment,
        since begin: Moment,
        _ next: inout Int
    ) -> (least: Duration, mean: Duration, longest: Duration)? {
        guard let delays = forecast?.delays else { return nil }
        while next < delays.count, delays[next].moment < begin { next += 1 }
        let here = delays[next...].prefix { $0.moment < end }
        guard let first = here.first else {
            guard next > 0 else { return nil }
            let middle = begin + (end - begin) / 2
            let between = PlanPicture.delay(at: middle, between: delays[next - 1], delays[min(next, delays.count - 1)])
            return (between, between, between)
        }
        let (least, sum, longest) = here.reduce((first.delay, Duration.zero, first.delay)) {
            (min($0.0, $1.delay), $0.1 + $1.delay, max($0.2, $1.delay))
        }
        return (least, sum / here.count, longest)
    }

    /// The delay at a moment on the straight line between two measurements.
    private static func delay(
        at moment: Moment,
        between first: TransferForecast.Delay,
        _ last: TransferForecast.Delay
    ) -> Duration {
        guard first.moment < last.moment else { return last.delay }
        let part = Double((moment - first.moment).nanoseconds) / Double((last.moment - first.moment).nanoseconds)
        let change = Double((last.delay - first.delay).nanoseconds)
        return first.delay + .nanoseconds(Int64(change * min(1, max(0, part))))
    }

    static func connections(of forecast: TransferForecast) -> [(begin: Moment, end: Moment)] {
        var connections: [(begin: Moment, end: Moment)] = []
        for event in forecast.events {
            switch event.kind {
            case .opened: connections.append((event.moment, .zero + forecast.duration))
            case .lost: connections[connections.count - 1].end = event.moment
            case .refused, .unanswered, .struck: break
            }
        }
        return connections
    }

    /// The mark of an event; `nil` for one that isn't marked.
    static func mark(_ event: TransferForecast.Event) -> PlanMark? {
        let (kind, text): (PlanMark.Kind, String)
        switch event.kind {
        case .opened: return nil
        case .refused(let fault): (kind, text) = (.refused, "refused by \(fault)")
        case .unanswered(let fault): (kind, text) = (.refused, "not answered because of \(fault)")
        case .lost(let connection, let offset, let loss):
            kind = .lost
            text = "connection \(connection) is lost (\(loss.rawValue)) at \(Formatting.grouped(offset))"
        case .struck(let entry):
            // The lost and the refused connections have marks of their own.
            guard let acts = PlanMark.Kind(word: entry.effect.word) else { return nil }
            let isHanging = entry.connection != nil && entry.effect == .hangs
            guard acts == .fault || isHanging else { return nil }
            let offset = entry.offset.map { " at \(Formatting.grouped($0))" } ?? ""
            let text = "\(entry.fault) \(entry.effect.word)\(offset)"
            return PlanMark(moment: event.moment, kind: acts, text: text, fault: isHanging ? nil : entry.fault)
        }
        return PlanMark(moment: event.moment, kind: kind, text: text)
    }

    static func figures(of report: PlanReport) -> [Figure] {
        [
            Figure(label: "predicted", lines: [report.verdict]),
            Figure(label: "connections", lines: [report.connections]),
            Figure(label: "faults", lines: lines(of: report.forecast.faultCounts)),
            Figure(label: "pauses", lines: [report.pauses]),
            Figure(label: "assumed", lines: [report.assumptions]),
        ]
    }

    static func figures(of recording: PlanRecording, end: Duration) -> [Figure] {
        var (counts, places): ([(fault: String, count: Int)], [String: Int]) = ([], [:])
        // A capture tells as well when clients open connections.
        for event in recording.events where (event.fault, event.what) != ("client", "opens") {
            let name = "\(event.fault) \(event.what)"
            if let place = places[name] {
                counts[place].count += 1
            } else {
                places[name] = counts.count
                counts.append((name, 1))
            }
        }
        let connections = Set(recording.events.compactMap(\.connection)).count
        return [
            Figure(label: "recorded", lines: ["\(NearestText.time(end)) to the last event"]),
            Figure(label: "connections", lines: ["\(Formatting.grouped(Int64(connections))) with events"]),
            Figure(label: "faults", lines: lines(of: counts)),
            Figure(label: "drawn", lines: ["a connection that is opened when the clock starts"]),
        ]
    }

    private static func lines(of counts: [(fault: String, count: Int)]) -> [String] {
        let shown = counts.prefix(faultLimit).map { "\(Formatting.grouped(Int64($0.count))) × \($0.fault)" }
        let sum = Formatting.grouped(Int64(counts.reduce(0) { $0 + $1.count }))
        return [sum] + shown + (counts.count > shown.count ? ["… and \(counts.count - shown.count) more"] : [])
    }
}
