import Units

/// A drawing as a line of JSON: rates in bits per second, times in seconds, delays in milliseconds.
package struct PlanDocument: Encodable {
    /// The most points: 6,000. Beyond that they are farther apart.
    private static let pointLimit: Int64 = 6_000

    /// An interval of the drawing.
    struct Point: Encodable {
        var begin: Double
        /// The bytes that have arrived by its end; absent where nothing is predicted.
        var bytes: Int64?
        /// What arrives.
        var rate: Double?
        /// What may pass at most; absent where there is no limit.
        var capacity: Double?
        var delay: Delay?
    }

    /// The delays of bytes that arrive in an interval.
    struct Delay: Encodable {
        var least: Double
        var longest: Double
        var mean: Double
    }

    /// A phase, an outage, a connection, or marks that are one sign.
    struct Interval: Encodable {
        var begin: Double
        var end: Double
        var count: Int?
        var name: String?
    }

    /// A tick of an axis.
    struct Tick: Encodable {
        var label: String
        var value: Double
    }

    var event = "plan"
    var profile: String
    var heading: String
    var seconds: Double
    /// The length of an interval.
    var interval: Double
    var points: [Point]
    var phases: [Interval]
    var outages: [Interval]
    var marks: [Interval]
    var connections: [Interval]
    var legend: [String]
    var notes: [String]
    var rateTicks: [Tick]
    var delayTicks: [Tick]
    var timeTicks: [Tick]
    var figures: [String: [String]]
    var predicted: PlanPrediction?

    package init(_ picture: PlanPicture, _ prediction: PlanPrediction?) {
        profile = picture.name
        heading = picture.heading
        seconds = PlanDocument.seconds(picture.span)
        var width: Int64 = 100_000_000
        while picture.span.nanoseconds / width > PlanDocument.pointLimit { width *= 2 }
        interval = PlanDocument.seconds(.nanoseconds(width))
        points = PlanDocument.points(picture.columns(each: .nanoseconds(width)))
        phases = picture.runs.map {
            PlanDocument.interval($0.begin, $0.end, name: picture.phases[$0.phase].name)
        }
        outages = picture.outages.map { PlanDocument.interval($0.begin, $0.end, name: $0.mode.rawValue) }
        marks = picture.marks.map { PlanDocument.interval($0.begin, $0.end, name: $0.kind.rawValue, count: $0.count) }
        connections = picture.connections.map { PlanDocument.interval($0.begin, $0.end) }
        legend = picture.legend.map(\.text)
        notes = picture.notes
        let (rates, delays) = (picture.rates, picture.delays)
        rateTicks = rates?.rates.map { Tick(label: rates?.text($0) ?? "", value: $0) } ?? []
        delayTicks =
            delays?.delays.map { Tick(label: delays?.text($0) ?? "", value: PlanDocument.milliseconds($0)) } ?? []
        timeTicks = picture.times.moments.map {
            Tick(label: picture.times.text($0), value: PlanDocument.seconds($0 - .zero))
        }
        figures = Dictionary(picture.figures.map { ($0.label, $0.lines) }) { first, _ in first }
        predicted = prediction
    }

    private static func points(_ columns: [PlanColumn]) -> [Point] {
        var bytes = 0.0
        return columns.map { column in
            var point = Point(begin: seconds(column.begin - .zero))
            if case .limited(let rate) = column.capacity { point.capacity = rate.rounded() }
            if let rate = column.rate {
                bytes += column.bytes
                point.bytes = Int64(bytes.rounded())
                point.rate = rate.rounded()
            }
            point.delay = column.delay.map {
                Delay(least: milliseconds($0.least), longest: milliseconds($0.longest), mean: milliseconds($0.mean))
            }
            return point
        }
    }

    private static func interval(_ begin: Moment, _ end: Moment, name: String? = nil, count: Int? = nil) -> Interval {
        Interval(begin: seconds(begin - .zero), end: seconds(end - .zero), count: count, name: name)
    }

    /// Seconds, to the nearest microsecond.
    private static func seconds(_ duration: Duration) -> Double { (Double(duration.nanoseconds) / 1e3).rounded() / 1e6 }

    /// Milliseconds, to the nearest microsecond.
    private static func milliseconds(_ delay: Duration) -> Double { (Double(delay.nanoseconds) / 1e3).rounded() / 1e3 }
}
