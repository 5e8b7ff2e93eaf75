import FaultPlan
import FaultProfile
import Journal
import OperatingSystem
import Units

/// The event journal as JSON Lines: a header, then one object for each fault that acted.
///
/// The header has the profile and the seed, see `JournalHeader`. The keys of a line are `time` (RFC 3339, UTC), `proxy`,
/// `connection` and `direction` where they apply, `fault` (its name in the profile), `offset` if a position decided, `of` and
/// `request` if that is a position in an HTTP message, `what`, and `why` if a stream isn't read as HTTP. They are in
/// alphabetical order, so two journals without their times can be compared as text. A line with the `event` “omitted” counts
/// the `lines` of a fault that `JournalQuota` left out; one with “profile” marks a change of the profile, and one with “tls”
/// says what a client does in its handshake, one with “connect” how a connect of a supervised program has ended.
public final class JournalWriter: Sendable {
    private let writer: LineWriter
    private let queue: JournalQueue

    /// A journal written by `writer`, which gets the header at once.
    public convenience init(_ writer: LineWriter, header: JournalHeader) {
        let clock = JournalClock()
        self.init(writer, header: header) { $0.text(clock.time) }
    }

    /// A journal whose lines are encoded by `encode`, on the writer's thread.
    init(_ writer: LineWriter, header: JournalHeader, encode: @escaping @Sendable (JournalLine) -> String) {
        self.writer = writer
        queue = JournalQueue(encode: encode)
        writer.write(header.line.visibleJSON)
        writer.attach(queue)
    }

    /// Queues an entry, unless the quota leaves it out. Callable from any thread; never blocks, and encodes nothing.
    public func record(_ entry: JournalEntry) {
        if queue.add(entry) { writer.sourceHasLines() }
    }

    /// Queues a line about another profile, with a digest as in the header, or about proxies that are enabled or disabled. Later
    /// lines are about its faults, except for events that were queued on a loop before.
    public func noteProfile(_ profile: Profile, digest: String, generation: Int, isEnabled: Bool = true) {
        let now = MonotonicClock.now
        add(.profile(profile, digest: digest, generation: generation, isEnabled: isEnabled, now))
    }

    /// Queues a line about an event of the proxy called `proxy` that belongs into a journal: one of TLS.
    public func note(_ event: ProxyEvent, proxy: String) {
        guard case .tls(let connection, let event) = event else { return }
        let now = MonotonicClock.now
        add(.tls(proxy: proxy, connection: connection, side: event.side, what: event.what, why: event.why, now))
    }

    /// Queues a line about a connect of a supervised program.
    public func note(_ connect: ConnectRecord) { add(.connect(connect)) }

    /// Queues the counts of entries that were left out since the last such line. To be called when the proxies have stopped.
    ///
    /// - Returns: the number of entries left out since the beginning.
    @discardableResult
    public func finish() -> Int {
        let (isFirst, count) = queue.addOmissions(at: MonotonicClock.now)
        if isFirst { writer.sourceHasLines() }
        return count
    }

    /// Queues a line about `count` lines that came faster than they could be written.
    public func noteLost(_ count: Int) {
        add(.lost(count, MonotonicClock.now))
    }

    private func add(_ line: JournalLine) {
        if queue.add(line) { writer.sourceHasLines() }
    }
}
