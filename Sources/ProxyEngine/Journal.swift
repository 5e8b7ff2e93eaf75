import EventLoop
import FaultPlan
import FaultProfile
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
    private let queue: JournalQueue

    /// A journal that goes to `writer`, which gets the header at once.
    public convenience init(_ writer: LineWriter, header: JournalHeader) {
        let clock = JournalClock()
        self.init(writer, header: header) { $0.text(clock) }
    }

    /// A journal whose lines `encode` makes, on the writer's thread.
    init(_ writer: LineWriter, header: JournalHeader, encode: @escaping @Sendable (JournalLine) -> String) {
        self.writer = writer
        queue = JournalQueue(encode: encode)
        writer.write(header.line.visibleJSON)
        writer.attach(queue)
    }

    /// Writes an entry, unless there are too many; from any thread, without waiting and without making text of it.
    public func record(_ entry: JournalEntry) {
        if queue.add(entry) { writer.sourceHasLines() }
    }

    /// Writes that the proxies have another profile from here on, whose digest is that of the header's kind. The lines that
    /// follow tell of its faults, but for those that were on their way.
    public func noteProfile(_ profile: Profile, digest: String, generation: Int) {
        add(.profile(profile, digest: digest, generation: generation, MonotonicClock.now))
    }

    /// Writes the counts of entries that were left out and haven't been written yet. To be called when the proxies have
    /// stopped.
    ///
    /// - Returns: the entries that were left out since the beginning.
    @discardableResult
    public func finish() -> Int {
        let (isFirst, count) = queue.addOmissions(at: MonotonicClock.now)
        if isFirst { writer.sourceHasLines() }
        return count
    }

    /// Writes that `count` lines are missing because they came faster than they could be written.
    public func noteLost(_ count: Int) {
        add(.lost(count, MonotonicClock.now))
    }

    private func add(_ line: JournalLine) {
        if queue.add(line) { writer.sourceHasLines() }
    }
}
