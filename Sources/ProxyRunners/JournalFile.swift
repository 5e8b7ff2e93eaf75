import CommandParsing
import EventLoop
import FaultPlan
import FaultProfile
import Journal
import ProfileFiles
import ProxyEngine
import TerminalDisplay
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
                    upstream: JournalTraces.address("\(configuration.destination)"),
                    clock: configuration.clockStart.map { (now - $0).nanoseconds / 1_000_000 },
                    clientsUseTLS: configuration.listen.usesTLS
                )
            },
            time: JournalClock.shared.time(of: now)
        )
    }
}

/// The file of a journal.
package enum JournalFile {
    /// The maximum size of a journal: 64 MiB.
    private static let maximumSize = 64 << 20

    /// Reads the journal at `path` and notes its traces. If `profile` is given, it must equal the journal's own.
    package static func read(
        _ path: String,
        profile: Profile?,
        noting inputs: InputFiles
    ) throws(CommandFailure) -> RecordedJournal {
        let text = try text(of: path)
        let journal: RecordedJournal
        do throws(RecordedJournal.Failure) {
            journal = try RecordedJournal(text, file: path, opened: JournalTraces.opened) { reference in
                inputs.noted(JournalFile.resolve(reference))
            }
        } catch {
            switch error {
            case .journal(let problem): throw failure(problem, path)
            case .profile(let problems): throw .problems(problems.description)
            }
        }
        // A journal may name a trace “/folder/./file”: both are named anew.
        let digest = ProfileDigest.text(of: journal.header.profile.inJournal)
        if let profile, ProfileDigest.text(of: profile.inJournal) != digest {
            throw .wrongInput(
                "the journal “\(path)” was made with another profile than “\(profile.name)” as it is now: leave "
                    + "the profile out, the journal has its own"
            )
        }
        tellTorn(journal.torn, path)
        if journal.omitted > 0 {
            Console.error(
                "the journal “\(path)” is incomplete: \(journal.omitted) lines were left out when it was written, and "
                    + "what they told isn't re-injected"
            )
        }
        return journal
    }

    /// The lines of the journal at `path`.
    package static func lines(of path: String, _ sorting: JournalSorting) throws(CommandFailure) -> [String] {
        let text = try text(of: path)
        do throws(JournalProblem) {
            let (lines, torn) = try sorting.lines(of: text)
            tellTorn(torn, path)
            return lines
        } catch {
            throw failure(error, path)
        }
    }

    private static func text(of path: String) throws(CommandFailure) -> JournalText {
        let bytes = try RegularFile.bytes(of: path, limit: maximumSize + 1, named: "the journal “\(path)”")
        guard bytes.count <= maximumSize else {
            throw .wrongInput("the journal “\(path)” has more than 64 MiB: delete lines that it can do without")
        }
        do throws(JournalProblem) {
            return try JournalText(bytes)
        } catch {
            throw failure(error, path)
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

    private static func tellTorn(_ line: Int?, _ path: String) {
        if let line { Console.error("\(path):\(line): the last line is torn off, and left out") }
    }

    private static func failure(_ problem: JournalProblem, _ path: String) -> CommandFailure {
        guard let line = problem.line else {
            return .wrongInput("the journal “\(path)” \(problem.what): \(problem.remedy)")
        }
        return .problems("\(path.visibleLine):\(line): \(problem.what) (\(problem.remedy))")
    }
}

extension JournalHeader.ProxyEntry {
    /// Where to forward to: as it is given, or else where the proxy did. `remedy` says what helps if its clients named the
    /// hosts.
    package func upstream(_ given: Endpoint?, otherwise remedy: String) throws(CommandFailure) -> Endpoint {
        guard let endpoint = given ?? Endpoint(upstream) else {
            throw .wrongInput("the clients of the journal's proxy named the hosts: \(remedy)")
        }
        return endpoint
    }
}

extension RecordedJournal {
    /// The replay of a proxy's faults by one that forwards to `upstream`. If the journal tells of several targets, it says
    /// which of the faults those are.
    package func plan(for proxy: JournalHeader.ProxyEntry, forwardingTo upstream: Endpoint) -> ReplayPlan {
        let address = upstream.unix.map { "\($0)" } ?? "\(Endpoint(host: upstream.host, port: upstream.port))"
        let targets = targets(of: proxy)
        if targets.count > 1 {
            let result =
                targets.contains(address)
                ? "only those on connections to \(address) are re-injected"
                : "\(address) is none of them, so they are re-injected by the numbers of all connections"
            let list = targets.joined(separator: ", ")
            Console.error("the journal tells of faults on connections to \(list): \(result)")
        }
        return plan(for: proxy, to: address)
    }

    /// The entry of the proxy called `name`, the value of `option`, or of the only one.
    package func proxy(_ name: String?, option: String = "--name") throws(CommandFailure) -> JournalHeader.ProxyEntry {
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
}
