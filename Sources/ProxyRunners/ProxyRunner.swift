import EventLoop
import FaultPlan
import FaultProfile
import Journal
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import TerminalDisplay
import Units

/// Runs proxies in the foreground until Ctrl-C.
package struct ProxyRunner {
    private let configurations: [ProxyConfiguration]
    /// The path of the journal; "-" is standard output.
    private let journal: String?
    private let threads: Int
    /// The input files of the faults.
    private let inputs: InputFiles
    /// The profile in the journal's header, whose faults its lines name.
    private let recorded: Profile
    /// Reloads the profile while the proxies run, if set.
    package var reloader: ProfileReloader?
    /// Whether file changes trigger a reload, in addition to SIGHUP.
    package var watches = false
    /// The authority that clients have to trust.
    package var trust: TrustFile?
    /// Captures what passes the proxies, if set.
    package var capture: CaptureFile?
    /// Whether standard output has the journal or the capture alone.
    private var takesOutput: Bool { journal == "-" || capture?.isStandardOutput ?? false }

    /// A runner with `threads` event loops; 0 for one per processor.
    package init(
        _ configurations: [ProxyConfiguration],
        of profile: Profile,
        journal: String?,
        threads: Int,
        inputs: InputFiles
    ) {
        (self.configurations, recorded, self.journal) = (configurations, profile, journal)
        (self.threads, self.inputs) = (threads, inputs)
    }

    /// Runs the proxies, prints their addresses, and stops on a signal.
    package func run() async throws {
        let output = try openJournal()
        let journal = output.map {
            JournalWriter($0, header: JournalHeader(of: configurations, recorded: recorded, at: MonotonicClock.now))
        }
        // The journal on the terminal is for reading, without a line that moves.
        let live = LiveLine(isOn: Console.isTerminal && !(takesOutput && Terminal.isShared))
        Console.share(with: live)
        defer { Console.share(with: nil) }
        let narrator = Console.isTerminal ? Narrator(clockStart: configurations.first?.clockStart) : nil
        let warnings = Warnings()
        let (reasons, reload) = AsyncStream.makeStream(
            of: ProfileReloader.Reason.self,
            bufferingPolicy: .bufferingNewest(64)
        )
        let requestReload = reloader.map { _ -> @Sendable () -> Void in { reload.yield(.requested) } }
        try await withRuntime(threads: threads, reload: requestReload) { loops, interrupt in
            var proxies: [Proxy] = []
            for var configuration in configurations {
                let name = configuration.name
                configuration.capture = capture?.capture
                do throws(ProxyError) {
                    let proxy = try await Proxy.start(
                        configuration,
                        on: loops,
                        journal: { entry in
                            journal?.record(entry)
                            narrator?.narrate(entry)
                        },
                        report: { event in
                            warnings.report(event)
                            journal?.note(event, proxy: name)
                        }
                    )
                    proxies.append(proxy)
                } catch {
                    for proxy in proxies { await proxy.stop() }
                    throw CommandFailure(error)
                }
            }
            output?.release()
            capture?.capture.begin()
            for proxy in proxies { announce(proxy) }
            for line in trust?.lines ?? [] { Console.print(fields: [line], onErrors: takesOutput) }
            DetachedProgram.tellReady()
            let reloading = reloading(proxies, journal, reasons)
            await show(proxies, on: live, reload, until: interrupt)
            reload.finish()
            await reloading?.value
            let lateness = await stop(proxies)
            narrator?.finish()
            warnings.finish()
            for line in lateness { Console.warn(line) }
            // While the loops read signals: a second one ends the wait for a reader that takes nothing.
            let captured = Result { () throws(CommandFailure) in try capture?.finish() }
            try finish(journal, output)
            try captured.get()
        }
    }

    /// Draws the status of the proxies and polls the profile's files, as far as that is asked for, until a signal.
    private func show(
        _ proxies: [Proxy],
        on live: LiveLine,
        _ reload: AsyncStream<ProfileReloader.Reason>.Continuation,
        until interrupt: Interrupt
    ) async {
        let display = live.isOn ? Task { await RunDisplay(proxies: proxies, live: live).run() } : nil
        let polling = watches ? ProxyRunner.polling(reload) : nil
        await interrupt.wait()
        polling?.cancel()
        display?.cancel()
        await display?.value
        live.clear(within: Console.patience)
        Console.share(with: nil)
    }

    /// Stops the proxies; returns what is to say of those that were late.
    private func stop(_ proxies: [Proxy]) async -> [String] {
        var lateness: [String] = []
        for proxy in proxies {
            if let text = await proxy.statistics().lateness {
                lateness.append("the proxy “\(proxy.configuration.name)”: \(text)")
            }
            await proxy.stop()
        }
        return lateness
    }

    /// Opens the journal. Changes nothing in an existing file before the proxies run.
    func openJournal() throws(CommandFailure) -> LineWriter? {
        guard let journal else { return nil }
        try inputs.check(writing: "the journal", to: journal)
        do {
            return try LineWriter(path: journal, isHeld: true) { error in
                guard ProxyRunner.isFailure(error, of: journal) else { return }
                Console.warn("the journal “\(journal)” can't be written, and is incomplete from here on: \(error)")
            } whenWaiting: {
                OutputFile.warnWaiting(for: "the journal “\(journal)”")
            }
        } catch {
            throw CommandFailure(writing: "the journal “\(journal)”", error)
        }
    }

    /// Reloads the profile for each of `reasons`.
    private func reloading(
        _ proxies: [Proxy],
        _ journal: JournalWriter?,
        _ reasons: AsyncStream<ProfileReloader.Reason>
    ) -> Task<Void, Never>? {
        guard let reloader else { return nil }
        let report = takesOutput ? Console.warn(lines:) : Console.note
        return Task { await reloader.run(reasons, proxies: proxies, journal: journal, report: report) }
    }

    /// Polls the files for changes.
    private static func polling(_ reload: AsyncStream<ProfileReloader.Reason>.Continuation) -> Task<Void, Never> {
        Task {
            while (try? await Task.sleep(for: ProfileWatch.interval)) != nil { reload.yield(.poll) }
        }
    }

    /// Prints a proxy's addresses: on standard output, or on standard error if the journal uses standard output. The first
    /// follows “ready:”; the others end the line.
    private func announce(_ proxy: Proxy) {
        let configuration = proxy.configuration
        let facts =
            [
                "proxy “\(configuration.name)”", "profile “\(configuration.profile.name)”",
                "seed \(configuration.seed)",
                clock(of: proxy),
            ].compactMap(\.self) + others(of: proxy)
        let prefix = configuration.listen.usesTLS ? Endpoint.tlsPrefix : ""
        let ready = ["ready: \(prefix)\(proxy.address)", "-> \(configuration.destination)"]
        let fields = facts.enumerated().map { index, fact in
            (index == 0 ? "(" : "") + fact + (index + 1 == facts.count ? ")" : ",")
        }
        let whole = ForwardAnnouncement.lines(
            for: proxy.address,
            configuration.destination.policy,
            hasAuthority: configuration.tls.authority != nil,
            columns: takesOutput ? 0 : ForwardAnnouncement.codeColumns
        )
        for fields in [ready + fields] + whole.map({ [$0] }) {
            Console.print(fields: fields, onErrors: takesOutput)
        }
    }

    /// The further addresses of a name: "also listens on [::1]:8080".
    private func others(of proxy: Proxy) -> [String] {
        proxy.addresses.dropFirst().enumerated().map { index, address in
            index == 0 ? "also listens on \(address)" : "\(address)"
        }
    }

    /// The clock of a proxy with a given start: "clock starts in 4.8 s".
    private func clock(of proxy: Proxy) -> String? {
        guard proxy.configuration.clockStart != nil else { return nil }
        let since = MonotonicClock.now - proxy.started
        let seconds = Formatting.seconds(since < .zero ? .zero - since : since).drop { $0 == " " }
        return since < .zero ? "clock starts in \(seconds)" : "clock started \(seconds) ago"
    }

    /// Whether a journal error matters; a closed reader of standard output doesn't.
    private static func isFailure(_ error: SystemError, of journal: String?) -> Bool {
        journal != "-" || !error.isReaderGone
    }

    /// Flushes the journal and reports missing lines.
    func finish(_ journal: JournalWriter?, _ output: LineWriter?) throws(CommandFailure) {
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
            let lost = "\(dropped) line\(dropped == 1 ? " was" : "s were") lost"
            throw .failed("the journal is incomplete: \(failure); \(lost)")
        }
        if dropped > 0 {
            journal.noteLost(dropped)
            output.flush()
            throw .failed("the journal is incomplete: \(dropped) lines came too fast and were lost")
        }
    }
}
