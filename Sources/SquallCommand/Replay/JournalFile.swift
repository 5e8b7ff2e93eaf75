import FaultPlan
import FaultProfile
import FoundationEssentials
import ProxyEngine
import Replay
import Units

extension JournalHeader {
    /// The header of a journal started at `now` for proxies with a common profile, or for proxies that replay the
    /// faults of `recorded`, whose names the lines use.
    init(of configurations: [ProxyConfiguration], recorded: Profile? = nil, at now: Moment) {
        let profile = (recorded ?? configurations.first?.profile ?? Profile(name: "none")).inJournal
        self.init(
            version: Version.current,
            profile: profile,
            proxies: configurations.map { configuration in
                ProxyEntry(
                    name: configuration.name,
                    seed: configuration.seed,
                    upstream: "\(configuration.destination)",
                    clock: configuration.clockStart.map { (now - $0).nanoseconds / 1_000_000 }
                )
            },
            time: JournalClock.shared.time(of: now)
        )
    }
}

/// A parsed journal.
struct JournalFile {
    /// The maximum size of a journal: 64 MiB.
    private static let maximumSize = 64 << 20

    private struct Head: Decodable {
        var digest: String
        var event: String
        var proxies: [Proxy]
        var time: String?
        var traces: [Trace]?
        var version: String

        struct Proxy: Decodable {
            var name: String
            var seed: UInt64
            var upstream: String
            var clock: Int64?
        }

        struct Trace: Decodable {
            var digest: String
            var file: String
        }
    }

    /// A non-blank line.
    struct Line {
        /// The line number, from 1.
        let number: Int
        let text: Data
        /// Whether the line end is missing, as after a crash or on a full disk.
        let isOpen: Bool
    }

    let header: JournalHeader
    let events: [RecordedFaultEvent]
    /// The times of the events, as the journal writes them; `nil` where it doesn't.
    let times: [String?]

    /// Parses the journal at `path` and notes its traces. If `profile` is given, it must equal the journal's own.
    init(_ path: String, profile: Profile?, noting inputs: InputFiles) throws(CommandFailure) {
        let lines = try JournalFile.lines(path)
        guard let first = lines.first, let head = try? JSONDecoder().decode(Head.self, from: first.text),
            head.event == "journal"
        else {
            throw JournalFile.noHeader(path)
        }
        let own: Profile
        do {
            // Padding, so that messages have the line number of the header.
            let source = ProfileSource(
                file: path,
                bytes: Array(repeating: UInt8(ascii: "\n"), count: first.number - 1) + first.text
            )
            own = try ProfileReader.profile(embeddedIn: source, under: "profile") { reference in
                inputs.noted(JournalFile.resolve(reference))
            }
        } catch {
            throw .problems(error.description)
        }
        do throws(JournalProblem) {
            try JournalFile.check(head, own)
        } catch {
            throw JournalFile.failure(error, at: first, path)
        }
        // A journal may name a trace “/folder/./file”: both are named anew.
        let digest = ProfileDigest.text(of: own.outOfJournal.inJournal)
        if let profile, ProfileDigest.text(of: profile.inJournal) != digest {
            throw .wrongInput(
                "the journal “\(path)” was made with another profile than “\(profile.name)” as it is now: leave "
                    + "--profile out, the journal has its own"
            )
        }
        header = JournalHeader(
            version: head.version,
            profile: own.outOfJournal,
            digest: head.digest,
            proxies: head.proxies.map {
                JournalHeader.ProxyEntry(name: $0.name, seed: $0.seed, upstream: $0.upstream, clock: $0.clock)
            },
            traces: (head.traces ?? []).map { JournalHeader.TraceEntry(file: $0.file, digest: $0.digest) },
            time: head.time
        )
        (events, times) = try JournalFile.events(lines.dropFirst(), header, path)
    }

    /// The entry of the proxy called `name`, the value of `option`, or of the only one.
    func proxy(
        _ name: String?,
        option: String = "--name"
    ) throws(CommandFailure) -> JournalHeader.ProxyEntry {
        let names = header.proxies.map(\.name).joined(separator: ", ")
        if let name {
            guard let proxy = header.proxies.first(where: { $0.name == name }) else {
                throw .wrongInput("the journal has no proxy “\(name)” (it has \(names))")
            }
            return proxy
        }
        guard header.proxies.count == 1, let proxy = header.proxies.first else {
            throw .wrongInput("the journal has several proxies: choose one with \(option) (it has \(names))")
        }
        return proxy
    }

    /// The replay plan for a proxy.
    func plan(for proxy: JournalHeader.ProxyEntry) -> ReplayPlan {
        ReplayPlan(
            profile: header.profile.narrowed(to: proxy.name),
            seed: proxy.seed,
            events: events.filter { $0.proxy == proxy.name }
        )
    }

    /// Validates a header whose profile is `own`.
    private static func check(_ head: Head, _ own: Profile) throws(JournalProblem) {
        let again = "write the journal again with squall run --journal"
        guard head.digest == ProfileDigest.text(of: own) else {
            let what = "“digest” isn't that of the profile in this header: one of the two was changed"
            throw JournalProblem(what: what, remedy: again)
        }
        guard !head.proxies.isEmpty else {
            throw JournalProblem(what: "the header has no proxy (“proxies” is empty)", remedy: again)
        }
        for trace in own.traceEntries {
            guard let known = head.traces?.first(where: { $0.file == trace.file }) else {
                throw JournalProblem(what: "“traces” has no digest of the trace “\(trace.file)”", remedy: again)
            }
            guard known.digest == trace.digest else {
                throw JournalProblem(
                    what: "the trace “\(JournalTraces.opened(trace.file) ?? trace.file)” isn't what it was in the "
                        + "run of the journal: its digest is \(trace.digest), and was \(known.digest)",
                    remedy: "put the file of that run back, or \(again)"
                )
            }
        }
    }

    /// Resolves a reference in the profile of a header.
    private static func resolve(_ reference: ProfileReference) -> Result<ProfileSource, ResolutionError> {
        guard case .trace(let name) = reference else { return ProfileLibrary.resolve(reference) }
        guard let path = JournalTraces.opened(name) else {
            let what = "the folder of the shipped profiles isn't there, so the trace \(name.quoted) can't be found"
            return .failure(ResolutionError(what: what, remedy: "set SQUALL_PROFILES to it"))
        }
        return ProfileLibrary.resolve(.trace(path)).mapError { error in
            ResolutionError(what: error.what, remedy: "put the file of the journal's run there")
        }
    }

    /// The non-blank lines of the journal at `path`: all of them, or one more than the limit.
    static func lines(_ path: String) throws(CommandFailure) -> [Line] {
        let bytes: [UInt8]
        do throws(RegularFileProblem) {
            bytes = try RegularFile.bytes(of: path, limit: maximumSize + 1)
        } catch {
            throw .wrongInput("can't read the journal “\(path)”: \(error.reason) (\(error.remedy))")
        }
        guard bytes.count <= maximumSize else {
            throw .wrongInput("the journal “\(path)” has more than 64 MiB: delete lines that it can do without")
        }
        var lines: [Line] = []
        var (number, start, isBlank) = (1, 0, true)
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "\n"):
                if !isBlank { lines.append(Line(number: number, text: Data(bytes[start..<index]), isOpen: false)) }
                // The header is one more line.
                if lines.count > ReplayPlan.eventLimit + 1 { return lines }
                (number, start, isBlank) = (number + 1, index + 1, true)
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
            default: isBlank = false
            }
        }
        // The rest after the last line end; empty in a complete journal.
        if !isBlank { lines.append(Line(number: number, text: Data(bytes[start...]), isOpen: true)) }
        return lines
    }

    private static func events(
        _ lines: ArraySlice<Line>,
        _ header: JournalHeader,
        _ path: String
    ) throws(CommandFailure) -> (events: [RecordedFaultEvent], times: [String?]) {
        try checkCount(of: lines, path)
        let reader = JournalLineReader(header)
        var events: [RecordedFaultEvent] = []
        var times: [String?] = []
        var omitted: Int64 = 0
        for line in lines {
            if line.isOpen, !JSONSyntax.isObject(line.text) {
                Console.error("\(path):\(line.number): the last line is torn off, and left out")
                continue
            }
            do throws(JournalProblem) {
                let (event, time) = try reader.event(line.text)
                events.append(event)
                times.append(time)
            } catch {
                do throws(JournalProblem) {
                    try reader.checkProfile(line.text)
                } catch {
                    throw failure(error, at: line, path)
                }
                guard let count = reader.omitted(line.text) else { throw failure(error, at: line, path) }
                omitted = omitted.addingReportingOverflow(count).partialValue
            }
        }
        if omitted > 0 {
            Console.error(
                "the journal “\(path)” is incomplete: \(omitted) lines were left out when it was written, and what they "
                    + "told isn't struck again"
            )
        }
        return (events, times)
    }

    static func failure(_ problem: JournalProblem, at line: Line, _ path: String) -> CommandFailure {
        .problems("\(path.visibleLine):\(line.number): \(problem.what) (\(problem.remedy))")
    }

    /// Throws if there are more lines after the header than a journal may have.
    static func checkCount(of lines: ArraySlice<Line>, _ path: String) throws(CommandFailure) {
        let limit = ReplayPlan.eventLimit
        guard lines.count > limit else { return }
        throw .wrongInput("the journal “\(path)” has more than \(limit) lines: delete those that it can do without")
    }

    /// The failure of a file without a header.
    static func noHeader(_ path: String) -> CommandFailure {
        .wrongInput("“\(path)” doesn't begin with a journal's header: write it with squall run --journal")
    }
}
