import EventLoop
import FaultPlan
import FaultProfile
import Journal
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import TerminalDisplay
import Units

/// Reloads the profile of `squall run` and applies it to its proxies.
///
/// An invalid profile is reported and changes nothing.
package actor ProfileReloader {
    /// Why the files are reread.
    enum Reason: Sendable {
        /// Requested by SIGHUP.
        case requested
        /// Time to check for changes.
        case poll
    }

    /// The profile as given on the command line.
    private let chosen: ChosenProfile
    private let addresses: ProxyAddresses
    /// Whether the command line gives the seed, which overrides the profile's.
    private let hasSeed: Bool
    private var profile: Profile
    private var files: [String]
    private var watch: ProfileWatch
    private var globalBuckets: GlobalBuckets?
    private var generation = 1

    /// A reloader of a profile that was read from `files`.
    package init(
        _ chosen: ChosenProfile,
        profile: Profile,
        files: [String],
        addresses: ProxyAddresses,
        hasSeed: Bool,
        globalBuckets: GlobalBuckets?
    ) {
        self.chosen = chosen
        self.profile = profile
        self.files = Set(files).sorted()
        self.addresses = addresses
        self.hasSeed = hasSeed
        self.globalBuckets = globalBuckets
        watch = ProfileWatch(self.files.map { FileStamp($0) })
    }

    /// Processes `reasons` in order until they end.
    func run(
        _ reasons: AsyncStream<Reason>,
        proxies: [Proxy],
        journal: JournalWriter?,
        report: @Sendable (String) -> Void
    ) async {
        for await reason in reasons {
            if let (what, remedy) = chosen.reasonAgainstReload {
                Console.warn("\(what): nothing has changed (\(remedy))")
                continue
            }
            let reportsProblems: Bool
            switch (reason, watch.poll(files.map { FileStamp($0) })) {
            case (.poll, .nothing): continue
            case (.poll, .read(let reports)): reportsProblems = reports
            case (.requested, _): reportsProblems = true
            }
            do throws(CommandFailure) {
                let next = try read()
                if let line = try await apply(next, to: proxies, journal) {
                    report(line)
                } else if case .requested = reason {
                    report("reloaded: profile “\(next.name)”, nothing has changed")
                }
            } catch {
                guard reportsProblems else { continue }
                Console.warn(lines: error.lines)
                Console.warn("the profile “\(chosen.reference ?? "")” can't be used, and nothing has changed")
            }
        }
    }

    /// Reads the profile. Afterwards watches its files, including unreadable ones.
    private func read() throws(CommandFailure) -> Profile {
        let inputs = InputFiles()
        do throws(CommandFailure) {
            let next = try chosen.read(noting: inputs)
            follow(inputs.wanted)
            return next
        } catch {
            // A failed read may not have reached all of the profile's files.
            follow(files + inputs.wanted)
            throw error
        }
    }

    private func follow(_ wanted: [String]) {
        let wanted = Set(wanted).sorted()
        guard wanted != files else { return }
        files = wanted
        watch.follow(files.map { FileStamp($0) })
    }

    /// Applies `next` to all proxies; returns a message, or `nil` when nothing has changed.
    private func apply(
        _ next: Profile,
        to proxies: [Proxy],
        _ journal: JournalWriter?
    ) async throws(CommandFailure) -> String? {
        guard next != profile else { return nil }
        try check(next, proxies)
        let faults = proxies.map { next.narrowed(to: $0.configuration.name) }
        globalBuckets = globalBuckets?.applying(faults)
        generation += 1
        journal?.noteProfile(next.inJournal, digest: ProfileDigest.text(of: next.inJournal), generation: generation)
        var changes: [PlanChange] = []
        var counts = Statistics()
        for (proxy, faults) in zip(proxies, faults) {
            do throws(ProxyError) {
                changes.append(try await proxy.apply(faults, globalBuckets: globalBuckets))
            } catch {
                throw CommandFailure(error)
            }
            counts += await proxy.statistics()
        }
        Console.warnUnreached(joining: counts.joining, unread: counts.unread)
        profile = next
        return "reloaded: profile “\(next.name)” (generation \(generation)): \(ProfileReloader.summary(of: changes))"
    }

    /// Rejects changes that running proxies don't support.
    private func check(_ next: Profile, _ proxies: [Proxy]) throws(CommandFailure) {
        do throws(ProxyError) { for proxy in proxies { try proxy.check(next) } } catch { throw CommandFailure(error) }
        let running = proxies.map { proxy in
            let configuration = proxy.configuration
            return ProxyAddresses.Proxy(
                name: configuration.name,
                listen: configuration.listen,
                mode: configuration.listenPermissions,
                upstream: configuration.destination.upstream
            )
        }
        let wanted = addresses.proxies(of: next)
        let again = "start squall run again for that"
        if let (next, current) = zip(wanted, running).first(where: { $0 != $1 && $0.name == $1.name }) {
            let isMode = (next.listen, next.upstream) == (current.listen, current.upstream)
            let what = isMode ? "the mode" : "the addresses"
            throw .wrongInput("\(what) of the proxy “\(next.name)” can't change while it runs: \(again)")
        }
        guard wanted == running else {
            throw .wrongInput("proxies can't be added, taken away or renamed while they run: \(again)")
        }
        if !hasSeed, let seed = next.seed, let running = proxies.first?.configuration.seed, seed != running {
            throw .wrongInput("the seed can't change while the proxies run: \(again)")
        }
    }

    /// A short summary of the changes.
    static func summary(of changes: [PlanChange]) -> String {
        func names(_ list: KeyPath<PlanChange, [String]>) -> String {
            var known: Set<String> = []
            let names = changes.flatMap { $0[keyPath: list] }.filter { known.insert($0).inserted }
            return names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
        }
        let parts = [("changed", names(\.changed)), ("added", names(\.added)), ("removed", names(\.removed))]
        var words = parts.filter { !$0.1.isEmpty }.map { "\($0) \($1)" }
        if changes.contains(where: \.changesPhases) { words.append("other phases") }
        return words.isEmpty ? "no fault has changed" : words.joined(separator: "; ")
    }
}
