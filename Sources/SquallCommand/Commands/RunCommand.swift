import ArgumentParser
import CommandParsing
import FaultProfile
import ProfileFiles
import ProxyRunners
import TerminalDisplay
import Units

/// `squall run`: the proxy in the foreground.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a profile between clients and a server, until Ctrl-C.",
        discussion: """
            Prints a ready line for each proxy, with the addresses that it listens on. On a terminal every phase and every \
            fault event is printed, above a status line. --journal writes the events as JSON Lines after a header with the profile and the seed; squall replay \
            and squall shrink read that file. With --journal - standard output has only the journal, and the ready lines \
            go to standard error.

            At SIGHUP, and with --watch when a file of the profile changes, the profile is read again. Live connections \
            continue with it at their positions and lose no byte. A profile with a problem is reported and changes nothing.

            --latency, --down, --up, --loss, --cut-at and --outage are the everyday faults without a file. They are added \
            to those of the profile, and stay when it is read again.

            --forward-proxy is one port for HTTP (CONNECT and whole URLs) and SOCKS5; the clients name the hosts. It prints \
            the line that has a shell use it.

            tls:HOST:PORT speaks TLS on that side, and https://HOST is the same for a URL. Faults of content count what TLS \
            carries, those of the network act on its bytes. The upstream's certificate is always verified. Without \
            --tls-cert the certificate is of an authority of this run, which signs for the names of the run alone; the \
            line “trust:” names its file.

            --detach prints the ready lines, the process id and the path of a log when it listens, and goes on in the \
            background. An error until then is the command's own, with its exit code.

            Example: squall run cut-every-mebibyte --listen :8081 --upstream :8080
            Example: squall run --latency 200ms±50ms --listen :5433 --upstream :5432
            Example: squall run flaky-api --listen tls::8443 --upstream https://example.com
            Example: squall run wifi-roam --forward-proxy :8888
            """
    )

    @Argument(
        help: "The profile: a path, the name of a shipped one, or - for standard input.",
        completion: ProfileCompletion.kind
    )
    var profile: String?

    @OptionGroup var faults: FaultOptions

    @Option(
        help: ArgumentHelp(
            """
            Narrow every fault to this host, as the client names it: api.example.com, *.example.com or localhost:3000. Can \
            be given again.
            """,
            valueName: "name"
        ),
        transform: ArgumentReading.hostPattern
    )
    var host: [HostPattern] = []

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var forward: ForwardOptions

    @OptionGroup var limits: LimitOptions

    @OptionGroup var client: TLSOptions

    @OptionGroup var tls: ProxyTLSOptions

    @OptionGroup var interception: InterceptOptions

    @OptionGroup var start: StartOptions

    @OptionGroup var background: DetachOptions

    @Option(
        help: ArgumentHelp("Write a line for each fault that acts; - is standard output.", valueName: "file"),
        completion: .file()
    )
    var journal: String?

    @OptionGroup var captures: CaptureOptions

    @OptionGroup var captureLimits: CaptureLimitOptions

    @Option(
        help: ArgumentHelp("Capture this proxy of the profile alone. Can be given again.", valueName: "name"),
        transform: ArgumentReading.proxyName
    )
    var pcapProxy: [String] = []

    @Option(help: "Event loops, a thread each; 0 is one for each processor.")
    var threads = 0

    @Flag(help: "Read the profile again whenever one of its files changes.")
    var watch = false

    func validate() throws {
        try proxy.check(forward)
        try captureLimits.check(captures.pcap)
        guard (0...256).contains(threads) else { throw ValidationError("--threads is from 0 to 256") }
        try faults.check(profile)
        try background.check(journal: journal)
        try captures.check(journal: journal, detaches: background.detach)
        try captureLimits.check(isForward: forward.forwardProxy != nil)
        if captures.pcap == nil, !pcapProxy.isEmpty {
            throw ValidationError("--pcap-proxy is for a capture: write --pcap FILE")
        }
        guard host.count <= ProfileLimits.triggerValues else {
            throw ValidationError("--host is given at most \(ProfileLimits.triggerValues) times")
        }
        if watch, let (what, remedy) = faults.chosen(profile).reasonAgainstReload {
            throw ValidationError("--watch: \(what): \(remedy)")
        }
    }

    func run() async throws {
        if background.detach, !faults.printProfile {
            // The background process has other outputs than the one that people start.
            try captures.check(reading: InputFiles(), beside: journal, keyLog: tls.keyLog)
        }
        if !faults.printProfile, try background.hasStarted("run") { return }
        let inputs = InputFiles()
        var chosen = faults.chosen(profile)
        chosen.hosts = host
        let read = try chosen.read(noting: inputs)
        if faults.printProfile { return faults.write(read, seed: proxy.seed) }
        var configurations = try proxy.configurations(for: read, forward, limits, clockStart: start.moment)
        let names = configurations.map(\.name)
        if let unknown = pcapProxy.first(where: { !names.contains($0) }) {
            throw CommandFailure.wrongInput(
                "--pcap-proxy: there is no proxy \(unknown.quoted): write \(names.map(\.quoted).joined(separator: " or "))"
            )
        }
        inputs.note(client.paths + tls.paths + [forward.proxyPasswordFile])
        try captures.check(reading: inputs, beside: journal, keyLog: tls.keyLog)
        let capture = try captures.opened(captureLimits, noting: inputs, of: pcapProxy)
        let trust = try tls.apply(
            to: &configurations,
            client: client,
            intercepting: interception.intercept,
            capturing: capture?.capture,
            reading: inputs
        )
        defer { trust?.remove() }
        // Each proxy runs its own part of the profile.
        var runner = ProxyRunner(configurations, of: read, journal: journal, threads: threads, inputs: inputs)
        runner.watches = watch
        runner.trust = trust
        runner.capture = capture
        runner.reloader = ProfileReloader(
            chosen,
            profile: read,
            files: inputs.wanted,
            addresses: proxy.addresses(forward),
            hasSeed: proxy.seed != nil,
            globalBuckets: configurations.first?.globalBuckets
        )
        try await runner.run()
    }
}
