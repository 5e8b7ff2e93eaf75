import FaultPlan
import Units

/// A run over time: throughput, phases and events. Times count from the begin of the run.
///
/// Its size is bounded, however long the run is.
package struct Timeline: Sendable {
    /// The bytes that passed in an interval, of all proxies together.
    package struct Sample: Hashable, Sendable {
        /// The end of the interval.
        package var time: Duration
        /// Bytes from clients to servers.
        package var upstream: Int64
        /// Bytes from servers to clients.
        package var downstream: Int64

        package init(time: Duration, upstream: Int64, downstream: Int64) {
            self.time = time
            self.upstream = upstream
            self.downstream = downstream
        }
    }

    /// A phase of a proxy's profile while it ran.
    package struct Phase: Hashable, Sendable {
        package var proxy: String
        package var name: String
        /// When it began, zero or later.
        package var start: Duration
        /// When it ended; the end of the run if it ran then.
        package var end: Duration

        package init(proxy: String, name: String, start: Duration, end: Duration) {
            self.proxy = proxy
            self.name = name
            self.start = start
            self.end = end
        }
    }

    /// Something that happened at a moment.
    package struct Mark: Hashable, Sendable {
        /// What a mark shows.
        package enum Kind: String, Hashable, Sendable, CaseIterable {
            /// A fault acted.
            case fault
            /// A transfer was resumed.
            case resumption
        }

        /// When it happened.
        package var time: Duration
        /// What it shows.
        package var kind: Kind
        /// A sentence: "connection 2, downstream: gone/cut resets at 65,536".
        package var text: String

        package init(time: Duration, kind: Kind, text: String) {
            self.time = time
            self.kind = kind
            self.text = text
        }
    }

    /// The most samples: 600.
    package static let sampleLimit = 600
    /// The most marks: 400.
    package static let markLimit = 400
    /// The most phases: 200.
    package static let phaseLimit = 200
    /// The most phases beyond `phaseLimit` that are counted, of all proxies together: 100,000. There may be more.
    package static let omissionLimit = 100_000

    /// How long the run took.
    package var duration = Duration.zero
    package private(set) var samples: [Sample] = []
    /// The phases in the order of their starts.
    package private(set) var phases: [Phase] = []
    /// The number of phases that were left out.
    package private(set) var omittedPhases = 0
    /// The marks in the order of time.
    package private(set) var marks: [Mark] = []
    package private(set) var omittedMarks = 0
    /// The number of added samples that make one of `samples`.
    private var width = 1
    /// The number of added samples in the last one of `samples`.
    private var filled = 0

    package init() {}

    /// Adds a sample. Above `sampleLimit` neighbours are added up, so that the samples cover the whole run with the same
    /// interval.
    package mutating func add(_ sample: Sample) {
        if filled > 0, filled < width, let last = samples.last {
            samples[samples.count - 1] = last + sample
            filled += 1
            return
        }
        if samples.count == Timeline.sampleLimit {
            samples = stride(from: 0, to: samples.count, by: 2).map { samples[$0] + samples[$0 + 1] }
            width *= 2
        }
        samples.append(sample)
        filled = 1
    }

    /// Adds a phase, unless there are `phaseLimit` already: those are counted.
    package mutating func add(_ phase: Phase) {
        if phases.count < Timeline.phaseLimit { phases.append(phase) } else { omittedPhases += 1 }
    }

    /// Adds the phases of a proxy that its schedule has from `began` to `end`.
    ///
    /// - Parameter names: the names of the profile's phases.
    package mutating func addPhases(
        _ names: [String],
        of proxy: String,
        on schedule: Schedule,
        from began: Moment,
        to end: Moment
    ) {
        var moment = began
        while moment < end, omittedPhases < Timeline.omissionLimit {
            let interval = schedule.interval(at: moment)
            if let index = interval.phase {
                let start = max(.zero, interval.begin - began)
                add(Phase(proxy: proxy, name: names[index], start: start, end: min(interval.end, end) - began))
            }
            moment = interval.end
        }
    }

    /// Adds a mark, unless there are `markLimit` already: those are counted.
    package mutating func add(_ mark: Mark) {
        if marks.count < Timeline.markLimit { marks.append(mark) } else { omittedMarks += 1 }
    }
}

extension Timeline.Sample {
    /// Two neighbours as one sample.
    fileprivate static func + (left: Timeline.Sample, right: Timeline.Sample) -> Timeline.Sample {
        Timeline.Sample(
            time: right.time,
            upstream: left.upstream + right.upstream,
            downstream: left.downstream + right.downstream
        )
    }
}
