import EventLoop
import FaultPlan
import FoundationEssentials
import Units

/// The event journal as JSON Lines: a header, then one object for each fault that acted.
///
/// The first line says by which profile and seed, see `JournalHeader`. A line's keys are `time` (RFC 3339, UTC),
/// `proxy`, `connection` and `direction` where they apply, `fault` (its name in the profile), `offset` where a
/// position decided, `of` and `request` where that is one in an HTTP message, `what`, and `why` where a stream
/// isn't read as HTTP. They are in alphabetical order, so two journals can be compared as text once their times are
/// taken out.
public final class Journal: Sendable {
    private struct Line: Encodable {
        let time: String
        let proxy: String
        let connection: UInt64?
        let direction: String?
        let fault: String
        let of: String?
        let offset: Int64?
        let request: Int64?
        let what: String
        let why: String?
    }

    private let writer: LineWriter
    private let wallClockStart: Date
    private let monotonicStart: Moment

    /// A journal that goes to `writer`, which is told the header at once.
    public init(_ writer: LineWriter, header: JournalHeader) {
        self.writer = writer
        writer.write(header.line.visibleJSON)
        wallClockStart = Date()
        monotonicStart = MonotonicClock.now
    }

    /// Writes an entry; from any thread, without waiting.
    public func record(_ entry: JournalEntry) {
        let since = Double((entry.moment - monotonicStart).nanoseconds) / 1e9
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let line = Line(
            time: wallClockStart.addingTimeInterval(since).formatted(style),
            proxy: entry.proxy,
            connection: entry.connection,
            direction: entry.direction?.rawValue,
            fault: entry.fault,
            of: entry.place.flatMap { $0.origin == .connection ? nil : $0.origin.rawValue },
            offset: entry.offset,
            request: entry.place?.request,
            what: entry.effect.word,
            why: entry.effect.reason?.rawValue
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(line) else { return }
        writer.write(String(decoding: data, as: UTF8.self).visibleJSON)
    }
}
