import FaultPlan
import FaultProfile
import Journal
import OperatingSystem
import Synchronization
import Units

/// A journal in memory: the events of faults in the order in which they came.
public final class JournalRecorder: Sendable {
    private struct State {
        var lines: [JournalLine] = []
        var events = 0
        /// The lines beyond the limit, and when the last of them came.
        var omitted: (count: Int, last: Moment) = (0, Moment(nanoseconds: 0))
    }

    /// The most lines that are kept; later ones are counted.
    public let limit: Int
    private let state = Mutex(State())
    private let clock = JournalClock()

    /// An empty journal of at most `limit` lines, 1 or more.
    public init(limit: Int) { self.limit = limit }

    /// Adds an event. Callable from any thread.
    public func record(_ entry: JournalEntry) {
        state.withLock { state in
            state.events += 1
            add(.fault(entry), at: entry.moment, to: &state)
        }
    }

    /// Notes that the events from here on are those of another profile, whose digest is as in the header.
    public func noteProfile(_ profile: Profile, digest: String, generation: Int) {
        let now = MonotonicClock.now
        let line = JournalLine.profile(profile, digest: digest, generation: generation, isEnabled: true, now)
        state.withLock { add(line, at: now, to: &$0) }
    }

    private func add(_ line: JournalLine, at moment: Moment, to state: inout State) {
        if state.lines.count < limit {
            state.lines.append(line)
        } else {
            state.omitted = (state.omitted.count + 1, moment)
        }
    }

    /// The time of `moment` as the journal's lines have it: in UTC (RFC 3339), with milliseconds.
    package func time(of moment: Moment) -> String { clock.time(of: moment) }

    /// The number of events, including those beyond the limit.
    public var count: Int { state.withLock { $0.events } }

    /// The events that are kept.
    public var entries: [JournalEntry] {
        state.withLock { $0.lines }.compactMap { if case .fault(let entry) = $0 { entry } else { nil } }
    }

    /// The journal as JSON Lines, as `JournalWriter` writes it after `header`. A last line counts what is beyond the limit.
    public func text(header: JournalHeader) -> String {
        let (lines, omitted) = state.withLock { ($0.lines, $0.omitted) }
        let last = omitted.count > 0 ? [JournalLine.lost(omitted.count, omitted.last)] : []
        return ([header.line.visibleJSON] + (lines + last).map { $0.text(clock.time) }).map { $0 + "\n" }.joined()
    }
}
