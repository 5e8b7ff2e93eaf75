import FaultPlan
import FaultProfile

/// A journal that has been read: its header, and the faults that acted.
package struct RecordedJournal {
    package let header: JournalHeader
    package let events: [RecordedFaultEvent]
    /// The times of the events, as the journal writes them; `nil` where it doesn't.
    package let times: [String?]
    /// The number of a torn last line, which is left out.
    package let torn: Int?
    /// The number of lines that were left out when it was written.
    package let omitted: Int64

    /// Why a journal can't be read.
    package enum Failure: Error {
        case journal(JournalProblem)
        /// The profile of the header has problems, with the line of the header.
        case profile(ProfileProblems)
    }

    /// Explains the lines of a journal.
    ///
    /// - Parameters:
    ///   - file: The name of the journal, for problems of its profile.
    ///   - opened: The path of a trace by its name in a journal; `nil` if it can't be found.
    ///   - resolve: Reads what the profile of the header refers to.
    package init(
        _ text: JournalText,
        file: String,
        opened: (String) -> String?,
        resolve: @escaping ProfileReader.Resolver
    ) throws(Failure) {
        let profile: Profile
        do {
            // Padding, so that messages have the line number of the header.
            let padding = Array(repeating: UInt8(ascii: "\n"), count: text.header.number - 1)
            let source = ProfileSource(file: file, bytes: padding + text.header.bytes)
            profile = try ProfileReader.profile(embeddedIn: source, under: "profile", resolving: resolve)
        } catch {
            throw .profile(error)
        }
        do throws(JournalProblem) {
            header = try RecordedJournal.header(text.header, profile, opened)
            let reader = JournalLineReader(header)
            let (nodes, torn) = try text.objects()
            var (events, times, omitted) = ([RecordedFaultEvent](), [String?](), Int64(0))
            var targets: [String: [UInt64: RecordedTarget]] = [:]
            for (line, node) in nodes {
                do throws(JournalProblem) {
                    switch try reader.meaning(of: node) {
                    case .event(let event, let time):
                        events.append(event)
                        times.append(time)
                    case .omitted(let count): omitted = omitted.addingReportingOverflow(count).partialValue
                    case .target(let target, let proxy, let connection):
                        targets[proxy, default: [:]][connection] = target
                    case .notice: break
                    }
                } catch {
                    throw error.at(line.number)
                }
            }
            // The line about a connect may come behind those of its faults.
            for index in events.indices {
                events[index].target = events[index].connection.flatMap { targets[events[index].proxy]?[$0] }
            }
            (self.events, self.times, self.torn, self.omitted) = (events, times, torn, omitted)
        } catch {
            throw .journal(error)
        }
    }

    /// Whether each event has a time, so that the order in which they happened is known.
    package var hasTimes: Bool { !times.contains(nil) }

    /// The replay of the faults of a proxy, in the order in which they acted if the journal tells it.
    ///
    /// - Parameter upstream: the address to which all connections go. Repeats the events of connections to it if the
    ///   journal tells of some, or else those of the only target that it tells of, or else all by the numbers of their
    ///   connections. Without it an event with a target is repeated on the connections to that.
    package func plan(for proxy: JournalHeader.ProxyEntry, to upstream: String? = nil) -> ReplayPlan {
        var order = events.indices.filter { events[$0].proxy == proxy.name }
        if hasTimes { order.sort { (times[$0] ?? "", $0) < (times[$1] ?? "", $1) } }
        var played = order.map { events[$0] }
        if let upstream {
            let targets = targets(of: proxy)
            if let target = targets.count == 1 ? targets.first : targets.first(where: { $0 == upstream }) {
                played.removeAll { $0.target.map { $0.host.text != target } ?? false }
            } else {
                for index in played.indices { played[index].target = nil }
            }
        }
        return ReplayPlan(
            profile: header.profile.narrowed(to: proxy.name),
            seed: proxy.seed,
            events: played,
            isByTarget: upstream == nil
        )
    }

    /// The targets of the connections of a proxy that faults have met, as far as the journal tells them.
    package func targets(of proxy: JournalHeader.ProxyEntry) -> [String] {
        Set(events.filter { $0.proxy == proxy.name }.compactMap { $0.target?.host.text }).sorted()
    }

    private static let again = "write the journal again with squall run --journal"

    /// The header of a line whose profile is `own`.
    private static func header(
        _ line: JournalText.Line,
        _ own: Profile,
        _ opened: (String) -> String?
    ) throws(JournalProblem) -> JournalHeader {
        let node = try line.object()
        let header: JournalHeader
        do throws(JournalProblem) {
            header = JournalHeader(
                version: try node.required("version"),
                profile: own.withFiles { opened($0) ?? $0 },
                digest: try node.required("digest"),
                proxies: try proxies(node["proxies"]?.elements ?? []),
                traces: try traces(node["traces"]?.elements ?? []),
                time: try node.text("time")
            )
        } catch {
            // Without its header no line of a journal has a meaning.
            throw JournalProblem(line: line.number, what: error.what, remedy: again)
        }
        do throws(JournalProblem) {
            try check(header, own, opened)
            return header
        } catch {
            throw error.at(line.number)
        }
    }

    private static func proxies(_ nodes: [JSONNode]) throws(JournalProblem) -> [JournalHeader.ProxyEntry] {
        var proxies: [JournalHeader.ProxyEntry] = []
        for node in nodes {
            guard case .number(let digits)? = node["seed"]?.value, let seed = UInt64(digits) else {
                throw JournalProblem(what: "a proxy of the header has no “seed”")
            }
            let (name, upstream) = (try node.required("name"), try node.required("upstream"))
            var proxy = JournalHeader.ProxyEntry(name: name, seed: seed, upstream: upstream)
            proxy.clock = try node.integer("clock")
            proxy.clientsUseTLS = try node.text("tls") != nil
            proxies.append(proxy)
        }
        guard !proxies.isEmpty else {
            throw JournalProblem(what: "the header has no proxy (“proxies” is empty)")
        }
        return proxies
    }

    private static func traces(_ nodes: [JSONNode]) throws(JournalProblem) -> [JournalHeader.TraceEntry] {
        var traces: [JournalHeader.TraceEntry] = []
        for node in nodes {
            let (file, digest) = (try node.required("file"), try node.required("digest"))
            traces.append(JournalHeader.TraceEntry(file: file, digest: digest))
        }
        return traces
    }

    private static func check(
        _ header: JournalHeader,
        _ own: Profile,
        _ opened: (String) -> String?
    ) throws(JournalProblem) {
        guard header.digest == ProfileDigest.text(of: own) else {
            let what = "“digest” isn't that of the profile in this header: one of the two was changed"
            throw JournalProblem(what: what, remedy: again)
        }
        for trace in own.traceEntries {
            guard let known = header.traces.first(where: { $0.file == trace.file }) else {
                throw JournalProblem(what: "“traces” has no digest of the trace “\(trace.file)”", remedy: again)
            }
            guard known.digest == trace.digest else {
                throw JournalProblem(
                    what: "the trace “\(opened(trace.file) ?? trace.file)” isn't what it was in the run of the "
                        + "journal: its digest is \(trace.digest), and was \(known.digest)",
                    remedy: "put the file of that run back, or \(again)"
                )
            }
        }
    }
}
