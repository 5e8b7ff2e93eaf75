import EventLoop
import FaultProfile
import ProxyEngine
import Units

/// The position of an event stream's reader, and what it gets next. A value: time is an argument.
///
/// Nothing waits for a reader: one that falls behind by more than `JournalHub.capacity` events gets the number of those it
/// has missed.
struct EventCursor {
    /// The events of one part at most: 1,000.
    static let partLimit = 1_000
    /// The time without data after which a comment shows that the stream lives: 15 s.
    static let keepAlive = Duration.seconds(15)

    private let journal: JournalHub
    private let story: Story?
    private var position = Story.Position()
    /// The number of the last event that was handed out.
    private var event: UInt64
    private var change: UInt64
    private var problem: UInt64
    /// The time between samples; `nil` for none.
    private let interval: Duration?
    private var nextSample: Moment
    private var lastPart: Moment

    /// A cursor at the events after the one numbered `event`; `nil` for those to come.
    init(
        _ journal: JournalHub,
        _ story: Story? = nil,
        after event: UInt64?,
        samples interval: Duration?,
        at now: Moment
    ) {
        self.journal = journal
        self.story = story
        self.event = event.map { journal.lastKnown($0) } ?? journal.last
        change = journal.notices.changes
        problem = journal.notices.lastProblem
        self.interval = interval
        (nextSample, lastPart) = (now, now)
        // What was told before is at `/v1/story`.
        _ = story?.news(after: &position)
    }

    /// The first part: the time until a reader tries again, and the number from which one that has no event yet goes on.
    var beginning: String {
        let server = JSONText.object([("start", .text(JournalClock.shared.time(of: journal.start)))])
        return "retry: 1000\n\n" + EventCursor.message("server", server.compact, id: event)
    }

    /// Whether a sample is due; the next one is due an interval later.
    mutating func takesSample(at now: Moment) -> Bool {
        guard let interval, now >= nextSample else { return false }
        nextSample = nextSample + interval > now ? nextSample + interval : now + interval
        return true
    }

    /// Everything that is due at `now`, with `sample` if there is one; empty if nothing is.
    mutating func part(at now: Moment, sample: String? = nil) -> String {
        var text = ""
        if let sample { text += EventCursor.message("sample", sample) }
        let (events, lost) = journal.events(after: event, limit: EventCursor.partLimit)
        if lost > 0 { text += EventCursor.message("lost", JSONText.object([("lost", .number(lost))]).compact) }
        for event in events { text += EventCursor.message("fault", event.json.compact, id: event.id) }
        event = events.last?.id ?? event
        for problem in journal.notices.problems(after: &problem) {
            text += EventCursor.message("problem", JSONText.object([("text", .text(problem))]).compact)
        }
        let changes = journal.notices.changes
        if changes != change { text += EventCursor.message("change", "{}") }
        change = changes
        if let (captions, transfers) = story?.news(after: &position) {
            for caption in captions { text += EventCursor.message("story", caption.compact) }
            for transfer in transfers { text += EventCursor.message("transfer", transfer.compact) }
        }
        if text.isEmpty, now - lastPart >= EventCursor.keepAlive { text = ": keep-alive\n\n" }
        if !text.isEmpty { lastPart = now }
        return text
    }

    /// A message of an event stream (HTML Living Standard, section 9.2). `data` has no line end.
    private static func message(_ kind: String, _ data: String, id: UInt64? = nil) -> String {
        "event: \(kind)\n" + (id.map { "id: \($0)\n" } ?? "") + "data: \(data)\n\n"
    }
}

extension JournalHub.Event {
    /// The event as a member of responses.
    var json: JSONText {
        .object([
            ("id", .number(id)), ("time", .text(JournalClock.shared.time(of: entry.moment))),
            ("proxy", .text(entry.proxy)), ("connection", entry.connection.map(JSONText.number) ?? .null),
            ("direction", entry.direction.map { .text($0.rawValue) } ?? .null), ("fault", .text(entry.fault)),
            ("kind", .text(entry.kind.rawValue)), ("what", .text(entry.effect.word)),
            ("offset", entry.offset.map(JSONText.signed) ?? .null),
        ])
    }
}
