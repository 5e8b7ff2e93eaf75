import FaultPlan
import FaultProfile
import FoundationEssentials
import OperatingSystem
import Units

/// A line of the journal after the header, before encoding.
enum JournalLine: Sendable {
    case fault(JournalEntry)
    /// Entries of a fault that the quota left out.
    case omission(JournalQuota.Omission, Moment)
    /// The proxies have another profile.
    indirect case profile(Profile, digest: String, generation: Int, Moment)
    /// Lines that came faster than they could be written.
    case lost(Int, Moment)

    /// The line as JSON, without its end; its keys are in alphabetical order.
    func text(_ clock: JournalClock) -> String {
        let members: [(String, JSONText?)] =
            switch self {
            case .fault(let entry): JournalLine.members(of: entry, clock)
            case .omission(let omission, let moment):
                [
                    ("event", .text("omitted")), ("fault", .text(omission.fault)),
                    ("lines", .signed(Int64(omission.count))), ("proxy", .text(omission.proxy)),
                    ("time", .text(clock.time(of: moment))),
                ]
            case .profile(let profile, let digest, let generation, let moment):
                [
                    ("digest", .text(digest)), ("event", .text("profile")), ("generation", .signed(Int64(generation))),
                    ("profile", ProfileWriter.json(of: profile)), ("time", .text(clock.time(of: moment))),
                ]
            case .lost(let count, let moment):
                [
                    ("event", .text("omitted")), ("lines", .signed(Int64(count))),
                    ("time", .text(clock.time(of: moment))),
                ]
            }
        return JSONText.object(members.compactMap { key, value in value.map { (key, $0) } }).compact.visibleJSON
    }

    private static func members(of entry: JournalEntry, _ clock: JournalClock) -> [(String, JSONText?)] {
        let place = entry.place
        let base = place.flatMap { $0.base == .connection ? nil : $0.base.rawValue }
        return [
            ("connection", entry.connection.map(JSONText.number)),
            ("direction", (entry.direction?.rawValue).map(JSONText.text)),
            ("fault", .text(entry.fault)),
            ("of", base.map(JSONText.text)),
            ("offset", entry.offset.map(JSONText.signed)),
            ("proxy", .text(entry.proxy)),
            ("request", (place?.request).map(JSONText.signed)),
            ("time", .text(clock.time(of: entry.moment))),
            ("what", .text(entry.effect.word)),
            ("why", (entry.effect.reason?.rawValue).map(JSONText.text)),
        ]
    }
}

/// The wall-clock time of moments, from one reading of both clocks.
package struct JournalClock: Sendable {
    /// A reading that the whole process shares.
    package static let shared = JournalClock()

    private let date: Date
    private let moment: Moment

    /// Reads both clocks.
    init() {
        (date, moment) = (Date(), MonotonicClock.now)
    }

    /// The time of `moment` in UTC (RFC 3339), with milliseconds.
    package func time(of moment: Moment) -> String {
        let since = Double((moment - self.moment).nanoseconds) / 1e9
        return date.addingTimeInterval(since).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
