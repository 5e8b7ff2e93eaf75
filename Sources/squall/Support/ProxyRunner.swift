import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import Units

/// Proxies in the foreground, until Ctrl-C.
struct ProxyRunner {
    let configurations: [ProxyConfiguration]
    /// Where the journal goes; "-" is standard output.
    let journal: String?
    /// The event loops; 0 is one for each processor.
    let threads: Int
    /// The files that the faults come from.
    let inputs: InputFiles
    /// The profile that the journal is to begin with, where its lines name the faults of another than a proxy runs.
    var recorded: Profile?
    /// Reads the profile again, where it may change while the proxies run.
    var reloader: ProfileReloader?
    /// Whether it is read whenever a file changes, and not only at SIGHUP.
    var watches = false

    /// Runs the proxies, tells where they listen, and ends when a signal comes.
    func run() async throws {
        ProcessLimits.raiseOpenFiles()
        let output = try openJournal()
        let loops: EventLoopGroup
        let interrupt: Interrupt
        let (reasons, reload) = AsyncStream.makeStream(
            of: ProfileReloader.Reason.self,
            bufferingPolicy: .bufferingNewest(64)
        )
        do throws(SystemError) {
            loops = try EventLoopGroup(count: threads)
            var ask: (@Sendable () -> Void)?
            if reloader != nil { ask = { _ = reload.yield(.asked) } }
            interrupt = try await Interrupt.watch(on: loops.loops[0], reload: ask)
        } catch {
            throw CommandFailure.failed("can't start the event loops: \(error)")
        }
        let journal = output.map {
            Journal($0, header: JournalHeader(of: configurations, recorded: recorded, at: MonotonicClock.now))
        }
        let narrator = Console.isTerminal ? Narrator(clockStart: configurations.first?.clockStart) : nil
        let warnings = Warnings()
        var proxies: [Proxy] = []
        for configuration in configurations {
            do throws(ProxyError) {
                let proxy = try await Proxy.start(
                    configuration,
                    on: loops,
                    journal: { entry in
                        journal?.record(entry)
                        narrator?.tell(entry)
                    },
                    report: { event in warnings.tell(event) }
                )
                proxies.append(proxy)
            } catch {
                for proxy in proxies { await proxy.stop() }
                throw CommandFailure(error)
            }
        }
        output?.release()
        for proxy in proxies { announce(proxy) }
        let reloading = reloading(proxies, journal, reasons)
        let looking = watches ? ProxyRunner.looking(reload) : nil
        await interrupt.wait()
        looking?.cancel()
        reload.finish()
        await reloading?.value
        var lateness: [String] = []
        for proxy in proxies {
            if let text = await proxy.statistics().lateness {
                lateness.append("the proxy “\(proxy.configuration.name)”: \(text)")
            }
            await proxy.stop()
        }
        await loops.stop()
        narrator?.finish()
        warnings.finish()
        for line in lateness { Console.warn(line) }
        try finish(journal, output)
    }

    /// The journal, of which nothing is written, and nothing lost that was in it, before the proxies run.
    private func openJournal() throws(CommandFailure) -> LineWriter? {
        guard let journal else { return nil }
        try inputs.check(writing: "the journal", to: journal)
        do {
            return try LineWriter(path: journal, isHeld: true) { error in
                guard ProxyRunner.isFailure(error, of: journal) else { return }
                Console.warn("the journal “\(journal)” can't be written, and is incomplete from here on: \(error)")
            } whenWaiting: {
                OutputFile.tellWaiting(for: "the journal “\(journal)”")
            }
        } catch {
            throw CommandFailure(writing: "the journal “\(journal)”", error)
        }
    }

    /// Has the proxies take the profile whenever there is a reason to read it again.
    private func reloading(
        _ proxies: [Proxy],
        _ journal: Journal?,
        _ reasons: AsyncStream<ProfileReloader.Reason>
    ) -> Task<Void, Never>? {
        guard let reloader else { return nil }
        let tells = self.journal == "-" ? Console.warn(lines:) : Console.note
        return Task { await reloader.run(reasons, proxies: proxies, journal: journal, tell: tells) }
    }

    /// Has somebody look again and again whether the files have changed.
    private static func looking(_ reload: AsyncStream<ProfileReloader.Reason>.Continuation) -> Task<Void, Never> {
        Task {
            while (try? await Task.sleep(for: ProfileWatch.interval)) != nil { reload.yield(.look) }
        }
    }

    /// Tells where a proxy listens: on standard output, or where that has the journal, on standard error. The address after
    /// “ready:” is the first; the others come at the end.
    private func announce(_ proxy: Proxy) {
        let configuration = proxy.configuration
        let line =
            "ready: \(proxy.address) -> \(configuration.upstream) "
            + "(proxy “\(configuration.name)”, profile “\(configuration.profile.name)”, seed \(configuration.seed)"
            + "\(clock(of: proxy))\(others(of: proxy)))"
        if journal == "-" {
            Console.error(lines: line)
        } else {
            Console.print(line)
        }
    }

    /// The further addresses of a name: ", also listens on [::1]:8080".
    private func others(of proxy: Proxy) -> String {
        let others = proxy.addresses.dropFirst()
        return others.isEmpty ? "" : ", also listens on \(others.map { "\($0)" }.joined(separator: ", "))"
    }

    /// Where the clock of a proxy is, if it was told when to start: ", clock starts in 4.8 s".
    private func clock(of proxy: Proxy) -> String {
        guard proxy.configuration.clockStart != nil else { return "" }
        let since = MonotonicClock.now - proxy.started
        let seconds = Formatting.seconds(since < .zero ? .zero - since : since).drop { $0 == " " }
        return since < .zero ? ", clock starts in \(seconds)" : ", clock started \(seconds) ago"
    }

    /// Whether an error of the journal is one; a reader of standard output that has seen enough isn't.
    private static func isFailure(_ error: SystemError, of journal: String?) -> Bool {
        journal != "-" || !error.isReaderGone
    }

    /// Writes out what the journal still holds, and tells what is missing in it.
    private func finish(_ journal: Journal?, _ output: LineWriter?) throws(CommandFailure) {
        guard let journal, let output else { return }
        let omitted = journal.finish()
        if omitted > 0 {
            Console.warn(
                "the journal leaves out \(omitted) lines: it has \(JournalQuota.faultLimit) a second of a fault, and "
                    + "\(JournalQuota.limit) of all; lines with “omitted” say where"
            )
        }
        let (dropped, failure) = output.flush()
        if let failure {
            guard ProxyRunner.isFailure(failure, of: self.journal) else { return }
            throw .failed("the journal is incomplete: \(failure); \(dropped) lines were lost")
        }
        if dropped > 0 {
            journal.noteLost(dropped)
            output.flush()
            throw .failed("the journal is incomplete: \(dropped) lines came too fast and were lost")
        }
    }
}

extension Statistics {
    /// How late faults were because the machine was busy: "the machine was too busy …"; `nil` when they weren't.
    var lateness: String? {
        guard lateTimes > 0 else { return nil }
        let threshold = Statistics.noticedLateness.nanoseconds / 1_000_000
        let longest = longestLateness.nanoseconds / 1_000_000
        let lost = lostBytes > 0 ? "; rates lost \(Formatting.size(lostBytes)) by it" : "; rates made up for all of it"
        return
            "the machine was too busy to keep the times of the profile \(lateTimes) time\(lateTimes == 1 ? "" : "s"), "
            + "by \(threshold) ms or more, \(Formatting.grouped(longest)) ms at most\(lost)"
    }
}

extension CommandFailure {
    /// Why a proxy could not be started. Wrong is what another command line or profile would mend, whatever the state of
    /// the machine.
    init(_ error: ProxyError) {
        let code: ExitStatus =
            switch error {
            case .unresolved, .forwardsToItself: .wrongInput
            case .cannotListen, .stopped: .failed
            }
        self.init(code: code, message: error.description)
    }
}
