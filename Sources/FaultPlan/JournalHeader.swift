import FaultProfile

/// The first line of a journal: what is needed to strike the same faults again.
public struct JournalHeader: Sendable {
    /// A proxy whose faults the journal tells.
    public struct ProxyEntry: Hashable, Sendable {
        /// Its name, part of every draw.
        public var name: String
        /// The seed of every draw.
        public var seed: UInt64
        /// Where it forwards to, `host:port`.
        public var upstream: String

        /// Makes an entry out of its parts.
        public init(name: String, seed: UInt64, upstream: String) {
            self.name = name
            self.seed = seed
            self.upstream = upstream
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

    /// Makes a header out of its parts.
    public init(version: String, profile: Profile, digest: String, proxies: [ProxyEntry]) {
        self.version = version
        self.profile = profile
        self.digest = digest
        self.proxies = proxies
    }

    /// The line, without its end: the keys in alphabetical order, but for those of the profile.
    public var line: String {
        let proxies = proxies.map { proxy in
            JSONText.object([
                ("name", .text(proxy.name)), ("seed", .number(proxy.seed)), ("upstream", .text(proxy.upstream)),
            ])
        }
        return JSONText.object([
            ("digest", .text(digest)), ("event", .text("journal")), ("profile", ProfileWriter.json(of: profile)),
            ("proxies", .array(proxies)), ("version", .text(version)),
        ]).compact
    }
}
