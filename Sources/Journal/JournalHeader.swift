import FaultProfile
import Units

/// The first line of a journal: what a replay needs.
public struct JournalHeader: Sendable {
    /// A proxy of the journal.
    public struct ProxyEntry: Hashable, Sendable {
        /// The proxy's name, which is part of every draw.
        public var name: String
        /// The seed of every draw.
        public var seed: UInt64
        /// Where it forwards to, `host:port` or `unix:path`.
        public var upstream: String
        /// The proxy's clock when the journal began, in milliseconds; negative before the clock's start, `nil` if the
        /// clock starts with the proxy.
        public var clock: Int64?
        /// Whether its clients speak TLS.
        public var clientsUseTLS: Bool

        /// Makes an entry.
        public init(name: String, seed: UInt64, upstream: String, clock: Int64? = nil, clientsUseTLS: Bool = false) {
            self.name = name
            self.seed = seed
            self.upstream = upstream
            self.clock = clock
            self.clientsUseTLS = clientsUseTLS
        }

        /// The clock start that puts a proxy at this entry's time `now`; `nil` if the clock starts with the proxy.
        public func clockStart(at now: Moment) -> Moment? {
            guard let clock else { return nil }
            let (nanoseconds, overflow) = clock.multipliedReportingOverflow(by: -1_000_000)
            return now.advanced(byNanoseconds: overflow ? (clock > 0 ? .min : .max) : nanoseconds)
        }
    }

    /// A trace file of the profile; its content isn't in the journal.
    public struct TraceEntry: Hashable, Sendable {
        /// The file, as the profile of the header names it.
        public var file: String
        /// The SHA-256, in hexadecimal, of the trace's times in decimal, one a line.
        public var digest: String

        /// Makes an entry.
        public init(file: String, digest: String) {
            self.file = file
            self.digest = digest
        }
    }

    /// The version of the program that wrote the journal.
    public var version: String
    /// The profile, with everything it extends.
    public var profile: Profile
    /// The SHA-256, in hexadecimal, of `ProfileWriter.canonicalText` of the profile.
    public var digest: String
    /// The proxies.
    public var proxies: [ProxyEntry]
    /// The trace files of the profile.
    public var traces: [TraceEntry]
    /// When the journal began, in UTC as RFC 3339 writes it; `nil` if it isn't known.
    public var time: String?

    /// Makes a header.
    public init(
        version: String,
        profile: Profile,
        digest: String,
        proxies: [ProxyEntry],
        traces: [TraceEntry] = [],
        time: String? = nil
    ) {
        self.version = version
        self.profile = profile
        self.digest = digest
        self.proxies = proxies
        self.traces = traces
        self.time = time
    }

    /// The line without its line feed; keys in alphabetical order, except in the profile.
    public var line: String {
        let proxies = proxies.map { proxy in
            JSONText.object(
                (proxy.clock.map { [("clock", .signed($0))] } ?? []) + [
                    ("name", .text(proxy.name)), ("seed", .number(proxy.seed)),
                ] + (proxy.clientsUseTLS ? [("tls", .text("clients"))] : [])
                    + [("upstream", .text(proxy.upstream))]
            )
        }
        let traces = traces.map { JSONText.object([("digest", .text($0.digest)), ("file", .text($0.file))]) }
        return JSONText.object(
            [
                ("digest", .text(digest)), ("event", .text("journal")), ("profile", ProfileWriter.json(of: profile)),
                ("proxies", .array(proxies)),
            ] + (time.map { [("time", .text($0))] } ?? [])
                + (traces.isEmpty ? [] : [("traces", .array(traces))]) + [("version", .text(version))]
        ).compact
    }
}
