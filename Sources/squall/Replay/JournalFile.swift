import Crypto
import FaultPlan
import FaultProfile
import Foundation
import ProxyEngine
import Replay
import Units

extension JournalHeader {
    /// The header of a journal, begun at `now`, of proxies, one or more, that have one profile; or of proxies that strike
    /// what was `recorded` with another profile again, whose faults the lines name.
    init(of configurations: [ProxyConfiguration], recorded: Profile? = nil, at now: Moment) {
        let profile = recorded ?? configurations.first?.profile ?? Profile(name: "none")
        self.init(
            version: Version.current,
            profile: profile,
            digest: ProfileDigest.text(of: profile),
            proxies: configurations.map { configuration in
                ProxyEntry(
                    name: configuration.name,
                    seed: configuration.seed,
                    upstream: "\(configuration.upstream)",
                    clock: configuration.clockStart.map { (now - $0).nanoseconds / 1_000_000 }
                )
            }
        )
    }
}

/// The name of a profile's content.
enum ProfileDigest {
    /// The SHA-256 of its canonical text, in hexadecimal digits.
    static func text(of profile: Profile) -> String {
        SHA256.hash(data: Data(ProfileWriter.canonicalText(of: profile).utf8)).hexadecimal
    }
}

/// A journal as it was written.
struct JournalFile {
    /// Bytes of a journal that are read at most: 64 MiB.
    private static let longest = 64 << 20

    private struct Head: Decodable {
        var digest: String
        var event: String
        var proxies: [Proxy]
        var version: String

        struct Proxy: Decodable {
            var name: String
            var seed: UInt64
            var upstream: String
            var clock: Int64?
        }
    }

    private struct Line: Decodable {
        var proxy: String
        var connection: UInt64?
        var direction: String?
        var fault: String
        var of: String?
        var offset: Int64?
        var request: Int64?
        var what: String
    }

    let header: JournalHeader
    let strikes: [RecordedStrike]

    /// Reads the journal at `path`; with `profile`, that one is taken instead of the journal's own, which must be the same.
    init(_ path: String, profile: Profile?) throws(CommandFailure) {
        let lines = try JournalFile.lines(path)
        guard let first = lines.first, let head = try? JSONDecoder().decode(Head.self, from: Data(first.utf8)),
            head.event == "journal"
        else {
            throw .wrongInput("“\(path)” doesn't begin with a journal's header: write it with squall run --journal")
        }
        let own: Profile
        do {
            let source = ProfileSource(file: path, text: first)
            own = try ProfileReader.profile(embeddedIn: source, under: "profile", resolving: ProfileLibrary.resolve)
        } catch {
            throw .problems(error.description)
        }
        if let profile, ProfileDigest.text(of: profile) != head.digest {
            throw .wrongInput(
                "the journal “\(path)” was made with another profile than “\(profile.name)” as it is now: leave "
                    + "--profile out, the journal has its own"
            )
        }
        header = JournalHeader(
            version: head.version,
            profile: profile ?? own,
            digest: head.digest,
            proxies: head.proxies.map {
                JournalHeader.ProxyEntry(name: $0.name, seed: $0.seed, upstream: $0.upstream, clock: $0.clock)
            }
        )
        strikes = try JournalFile.strikes(lines.dropFirst(), path)
    }

    /// The entry of the proxy called `name`, or of the only one.
    func proxy(_ name: String?) throws(CommandFailure) -> JournalHeader.ProxyEntry {
        let names = header.proxies.map(\.name).joined(separator: ", ")
        if let name {
            guard let proxy = header.proxies.first(where: { $0.name == name }) else {
                throw .wrongInput("the journal has no proxy “\(name)” (it has \(names))")
            }
            return proxy
        }
        guard header.proxies.count == 1, let proxy = header.proxies.first else {
            throw .wrongInput("the journal has several proxies: choose one with --name (it has \(names))")
        }
        return proxy
    }

    /// What is struck again for a proxy.
    func plan(for proxy: JournalHeader.ProxyEntry) -> ReplayPlan {
        ReplayPlan(profile: header.profile, strikes: strikes.filter { $0.proxy == proxy.name })
    }

    private static func lines(_ path: String) throws(CommandFailure) -> [String] {
        let data: Data
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try file.read(upToCount: longest + 1) ?? Data()
        } catch {
            throw .wrongInput("can't read the journal “\(path)”: \(FileProblem.reason(error))")
        }
        guard data.count <= longest else { throw .wrongInput("the journal “\(path)” has more than 64 MiB") }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private static func strikes(_ lines: ArraySlice<String>, _ path: String) throws(CommandFailure) -> [RecordedStrike]
    {
        guard lines.count <= ReplayPlan.strikeLimit else {
            throw .wrongInput("the journal “\(path)” has more than \(ReplayPlan.strikeLimit) lines")
        }
        var strikes: [RecordedStrike] = []
        for (index, text) in lines.enumerated() {
            guard let line = try? JSONDecoder().decode(Line.self, from: Data(text.utf8)) else {
                throw .wrongInput("\(path):\(index + 2): this is no line of a journal")
            }
            strikes.append(
                RecordedStrike(
                    proxy: line.proxy,
                    connection: line.connection,
                    direction: line.direction.flatMap(Direction.init),
                    fault: line.fault,
                    offset: line.offset,
                    origin: line.of.flatMap(Origin.init) ?? .connection,
                    request: line.request,
                    what: line.what
                )
            )
        }
        return strikes
    }
}
