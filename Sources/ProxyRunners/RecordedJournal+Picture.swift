import FaultPlan
import Forecast
import Journal
import TerminalDisplay
import Units

extension RecordedJournal {
    /// The events of a proxy on its clock, for drawing. `path` is that of the journal.
    package func recording(
        of proxy: JournalHeader.ProxyEntry,
        _ direction: Direction,
        path: String
    ) throws(CommandFailure) -> PlanRecording {
        let lines = zip(events, times).filter { $0.0.proxy == proxy.name }
        var moments: [WallClockTime] = []
        for (_, time) in lines {
            guard let time, let moment = try? WallClockTime(parsing: time) else {
                let remedy = "write it again with squall run --journal"
                throw .wrongInput("an event of the journal “\(path)” has no time, or none of RFC 3339 (\(remedy))")
            }
            moments.append(moment)
        }
        let began = header.time.flatMap { try? WallClockTime(parsing: $0) }
        // The clock starts with the proxy, and so with the journal, unless it was told otherwise.
        let base = began ?? moments.min()
        let clock = began == nil ? 0 : (.zero - (proxy.clockStart(at: .zero) ?? .zero)).nanoseconds
        let drawn = zip(lines, moments).map { line, moment in
            let since = moment.nanoseconds.subtractingSaturated(base?.nanoseconds ?? 0)
            return PlanRecording.Event(
                moment: Moment(nanoseconds: max(0, since.addingSaturated(clock))),
                connection: line.0.connection,
                fault: line.0.fault,
                offset: line.0.offset,
                what: line.0.what
            )
        }
        return PlanRecording(
            profile: header.profile.narrowed(to: proxy.name),
            heading: "The journal of proxy \(proxy.name.quoted), \(direction.rawValue), with seed \(proxy.seed)",
            seed: proxy.seed,
            direction: direction,
            events: drawn.sorted { $0.moment < $1.moment },
            note: began == nil
                ? "the journal doesn't tell when the clock started, so times count from its first event" : nil
        )
    }
}
