import EventLoop
import FaultPlan
import FaultProfile
import FoundationEssentials
import Synchronization
import Units

/// The event journal as JSON Lines: a header, then one object for each fault that acted.
///
/// The first line says by which profile and seed, see `JournalHeader`. A line's keys are `time` (RFC 3339, UTC),
/// `proxy`, `connection` and `direction` where they apply, `fault` (its name in the profile), `offset` where a
/// position decided, `of` and `request` where that is one in an HTTP message, `what`, and `why` where a stream isn't read
/// as HTTP. They are in alphabetical order, so two journals can be compared as text once their times are taken out. A line
/// with `event` “omitted” counts the `lines` of a fault that `JournalQuota` left out, and one with “profile” tells that
/// the profile has changed.
public final class Journal: Sendable {
    private let writer: LineWriter
    private let wallClockStart: Date
    private let monotonicStart: Moment
    private let quota = Mutex(JournalQuota())

    /// A journal that goes to `writer`, which is told the header at once.
    public init(_ writer: LineWriter, header: JournalHeader) {
        self.writer = writer
        writer.write(header.line.visibleJSON)
        wallClockStart = Date()
        monotonicStart = MonotonicClock.now
    }

    /// Writes an entry, unless there are too many; from any thread, without waiting.
    public func record(_ entry: JournalEntry) {
        let (isTaken, omissions) = quota.withLock { $0.take(entry) }
        for omission in omissions { write(omission, at: entry.moment) }
        guard isTaken else { return }
        let place = entry.place
        let origin = place.flatMap { $0.origin == .connection ? nil : $0.origin.rawValue }
        let members: [(String, JSONText?)] = [
            ("connection", entry.connection.map(JSONText.number)),
            ("direction", (entry.direction?.rawValue).map(JSONText.text)),
            ("fault", .text(entry.fault)),
            ("of", origin.map(JSONText.text)),
            ("offset", entry.offset.map(JSONText.signed)),
            ("proxy", .text(entry.proxy)),
            ("request", (place?.request).map(JSONText.signed)),
            ("time", .text(time(of: entry.moment))),
            ("what", .text(entry.effect.word)),
            ("why", (entry.effect.reason?.rawValue).map(JSONText.text)),
        ]
        write(members)
    }

    /// Writes that the proxies have another profile from here on, whose digest is that of the header's kind. The lines that
    /// follow tell of its faults, but for those that were on their way.
    public func noteProfile(_ profile: Profile, digest: String, generation: Int) {
        write([
            ("digest", .text(digest)), ("event", .text("profile")), ("generation", .signed(Int64(generation))),
            ("profile", ProfileWriter.json(of: profile)), ("time", .text(time(of: MonotonicClock.now))),
        ])
    }

    /// Writes what was left out and hasn't been told yet. To be called when the proxies have stopped.
    ///
    /// - Returns: the entries that were left out since the beginning.
    @discardableResult
    public func finish() -> Int {
        let (omissions, count) = quota.withLock { ($0.takeOmissions(), $0.omissions) }
        for omission in omissions { write(omission, at: MonotonicClock.now) }
        return count
    }

    /// Writes that `count` lines are missing because they came faster than they could be written.
    public func noteLost(_ count: Int) {
        write([
            ("event", .text("omitted")), ("lines", .signed(Int64(count))),
            ("time", .text(time(of: MonotonicClock.now))),
        ])
    }

    private func write(_ omission: JournalQuota.Omission, at moment: Moment) {
        write([
            ("event", .text("omitted")), ("fault", .text(omission.fault)), ("lines", .signed(Int64(omission.count))),
            ("proxy", .text(omission.proxy)), ("time", .text(time(of: moment))),
        ])
    }

    private func write(_ members: [(String, JSONText?)]) {
        writer.write(JSONText.object(members.compactMap { key, value in value.map { (key, $0) } }).compact.visibleJSON)
    }

    private func time(of moment: Moment) -> String {
        let since = Double((moment - monotonicStart).nanoseconds) / 1e9
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return wallClockStart.addingTimeInterval(since).formatted(style)
    }
}
