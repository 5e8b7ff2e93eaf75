import FaultPlan
import FaultProfile
import Units

/// A line of the journal after the header, before encoding.
package enum JournalLine: Sendable {
    case fault(JournalEntry)
    /// Entries of a fault that the quota left out.
    case omission(JournalQuota.Omission, Moment)
    /// The proxies have another profile, or are disabled.
    indirect case profile(Profile, digest: String, generation: Int, isEnabled: Bool, Moment)
    /// Lines that came faster than they could be written.
    case lost(Int, Moment)
    /// The TLS of a client or a server, without a fault.
    case tls(proxy: String, connection: UInt64, side: String, what: String, why: String, Moment)

    /// A connect of a supervised program.
    case connect(ConnectRecord)

    /// The line as JSON, without its end; its keys are in alphabetical order. `time` says the time of a moment in UTC.
    package func text(_ time: (Moment) -> String) -> String {
        let members: [(String, JSONText?)] =
            switch self {
            case .fault(let entry): JournalLine.members(of: entry, time)
            case .omission(let omission, let moment):
                [
                    ("event", .text("omitted")), ("fault", .text(omission.fault)),
                    ("lines", .signed(Int64(omission.count))), ("proxy", .text(omission.proxy)),
                    ("time", .text(time(moment))),
                ]
            case .profile(let profile, let digest, let generation, let isEnabled, let moment):
                [
                    ("digest", .text(digest)), ("enabled", isEnabled ? nil : .flag(false)),
                    ("event", .text("profile")), ("generation", .signed(Int64(generation))),
                    ("profile", ProfileWriter.json(of: profile)), ("time", .text(time(moment))),
                ]
            case .lost(let count, let moment):
                [
                    ("event", .text("omitted")), ("lines", .signed(Int64(count))),
                    ("time", .text(time(moment))),
                ]
            case .tls(let proxy, let connection, let side, let what, let why, let moment):
                [
                    ("connection", .number(connection)), ("event", .text("tls")), ("proxy", .text(proxy)),
                    ("side", .text(side)), ("time", .text(time(moment))), ("what", .text(what)),
                    ("why", .text(why)),
                ]
            case .connect(let record):
                [
                    ("blocks", .flag(record.blocks)), ("connection", record.connection.map(JSONText.number)),
                    ("event", .text("connect")), ("number", record.number.map(JSONText.number)),
                    ("outcome", .text(record.outcome)), ("pid", .signed(Int64(record.process))),
                    ("program", record.program.map(JSONText.text)), ("proxy", .text(record.proxy)),
                    ("target", .text(record.target)), ("time", .text(time(record.moment))),
                ]
            }
        return JSONText.object(members.compactMap { key, value in value.map { (key, $0) } }).compact.visibleJSON
    }

    private static func members(of entry: JournalEntry, _ time: (Moment) -> String) -> [(String, JSONText?)] {
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
            ("time", .text(time(entry.moment))),
            ("what", .text(entry.effect.word)),
            ("why", (entry.effect.reason?.rawValue).map(JSONText.text)),
        ]
    }
}
