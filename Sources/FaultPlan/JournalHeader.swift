import FaultProfile
import Units

/// The first line of a journal: what a replay needs.
public struct JournalHeader: Sendable {
    /// A proxy whose faults the journal tells.
    public struct ProxyEntry: Hashable, Sendable {
        /// Its name, part of every draw.
        public var name: String
        /// The seed of every draw.
        public var seed: UInt64
        /// Where it forwards to, `host:port` or `unix:path`.
        public var upstream: String
        /// The time on its clock when the journal began, in milliseconds, negative if the clock was yet to start; `nil`
        /// if the clock starts when the proxy does.
        public var clock: Int64?

        /// Makes an entry out of its parts.
        public init(name: String, seed: UInt64, upstream: String, clock: Int64? = nil) {
            self.name = name
            self.seed = seed
            self.upstream = upstream
            self.clock = clock
        }

        /// When the clock starts for a proxy that is to be where this one was, if it is `now`; `nil` if the clock
        /// starts when the proxy does.
        public func clockStart(at now: Moment) -> Moment? {
            guard let clock else { return nil }
            let (nanoseconds, overflow) = clock.multipliedReportingOverflow(by: -1_000_000)
            return now.advanced(byNanoseconds: overflow ? (clock > 0 ? .min : .max) : nanoseconds)
        }
    }

    /// A trace of the profile, whose file isn't in the journal.
    public struct TraceEntry: Hashable, Sendable {
        /// The file, as the profile of the header names it.
        public var file: String
        /// The SHA-256 of its times, in digits and each with a line end, in hexadecimal digits.
        public var digest: String

        /// Makes an entry out of its parts.
        public init(file: String, digest: String) {
            self.file = file
            self.digest = digest
        }
    }

    /// The version of the program that wrote it.
    public var version: String
    /// The profile, with what it has from others.
    public var profile: Profile
    /// The SHA-256 of `ProfileWriter.canonicalText` of the profile, in hexadecimal digits.
    public var digest: String
    /// The proxies.
    public var proxies: [ProxyEntry]
    /// The traces of the profile, a file each.
    public var traces: [TraceEntry]

    /// Makes a header out of its parts.
    public init(
        version: String,
        profile: Profile,
        digest: String,
        proxies: [ProxyEntry],
        traces: [TraceEntry] = []
    ) {
        self.version = version
        self.profile = profile
        self.digest = digest
        self.proxies = proxies
        self.traces = traces
    }

    /// The line, without its end: the keys in alphabetical order, but for those of the profile.
    public var line: String {
        let proxies = proxies.map { proxy in
            JSONText.object(
                (proxy.clock.map { [("clock", .signed($0))] } ?? []) + [
                    ("name", .text(proxy.name)), ("seed", .number(proxy.seed)), ("upstream", .text(proxy.upstream)),
                ]
            )
        }
        let traces = traces.map { JSONText.object([("digest", .text($0.digest)), ("file", .text($0.file))]) }
        return JSONText.object(
            [
                ("digest", .text(digest)), ("event", .text("journal")), ("profile", ProfileWriter.json(of: profile)),
                ("proxies", .array(proxies)),
            ] + (traces.isEmpty ? [] : [("traces", .array(traces))]) + [("version", .text(version))]
        ).compact
    }
}
