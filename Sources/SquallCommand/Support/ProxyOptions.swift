import ArgumentParser
import CommandParsing
import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import ProxyEngine
import ProxyRunners
import TerminalDisplay
import Units

/// The proxy options of `run`.
struct ProxyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The address to listen on: port 0 is any free port, :PORT is on 127.0.0.1, a name all of its addresses, \
            unix:PATH a Unix socket.
            """,
            valueName: "host:port"
        ),
        transform: ArgumentReading.endpoint
    )
    var listen: Endpoint?

    @Option(
        help: ArgumentHelp("Who may connect to the Unix socket of --listen. (default: 0600)", valueName: "mode"),
        transform: ArgumentReading.fileMode
    )
    var listenMode: SocketPermissions?

    @Option(
        help: ArgumentHelp("Where to forward to; unix:PATH is a Unix socket.", valueName: "host:port"),
        transform: ArgumentReading.endpoint
    )
    var upstream: Endpoint?

    @Option(
        help: "The proxy's name, in the journal and in every draw. (default: proxy)",
        transform: ArgumentReading.proxyName
    )
    var name: String?

    @Option(help: "The seed of every draw; without it the profile's, or a new one, which is printed.")
    var seed: UInt64?

    /// Throws a usage error if the options don't go together.
    func check(_ forward: ForwardOptions) throws {
        try forward.check(listen: listen, upstream: upstream)
        guard (listen == nil) == (upstream == nil) else {
            let missing = listen == nil ? "--listen" : "--upstream"
            throw ValidationError("\(missing) HOST:PORT is missing: --listen and --upstream go together")
        }
        if name != nil, listen == nil, forward.forwardProxy == nil {
            throw ValidationError("--name is for the proxy of --listen and --upstream; the profile's have names")
        }
        if listenMode != nil, listen?.unix?.isAbstract ?? true {
            throw ValidationError("--listen-mode is for --listen unix:PATH")
        }
        if upstream?.hasFreePort == true { throw ValidationError("--upstream needs a port above 0") }
    }

    /// The source of the proxies to run.
    func addresses(_ forward: ForwardOptions) -> ProxyAddresses {
        let name = name ?? "proxy"
        if let listen = forward.forwardProxy { return ProxyAddresses(given: .init(name: name, listen: listen)) }
        guard let listen, let upstream else { return ProxyAddresses(given: nil) }
        let mode = listenMode ?? .ownerOnly
        return ProxyAddresses(given: .init(name: name, listen: listen, mode: mode, upstream: upstream))
    }

    /// The proxies to run: that of the command line, or those of the profile. Their clocks start at `clockStart`, by
    /// default when they start.
    func configurations(
        for profile: Profile,
        _ forward: ForwardOptions,
        _ limits: LimitOptions,
        clockStart: Moment?
    ) throws(CommandFailure) -> [ProxyConfiguration] {
        let seed = seed ?? profile.seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        let proxies = addresses(forward).proxies(of: profile)
        guard !proxies.isEmpty else {
            throw .wrongInput(
                "the profile defines no proxy: give --listen HOST:PORT and --upstream HOST:PORT, or --forward-proxy PORT"
            )
        }
        if proxies.count == 1 { try profile.check(actsOn: proxies[0].name, "choose one by --name") }
        let policy = try forward.policy()
        let globalBuckets = GlobalBuckets(
            proxies.map { profile.narrowed(to: $0.name) },
            start: clockStart ?? MonotonicClock.now
        )
        return proxies.map { proxy in
            var configuration = ProxyConfiguration(
                name: proxy.name,
                listen: proxy.listen,
                destination: proxy.upstream.map { .upstream($0) } ?? .requested(policy),
                profile: profile.narrowed(to: proxy.name),
                seed: seed
            )
            configuration.listenPermissions = proxy.mode
            limits.apply(to: &configuration)
            configuration.globalBuckets = globalBuckets
            configuration.clockStart = clockStart
            // A container's name has no address before the container runs.
            configuration.startsUnresolved = true
            return configuration
        }
    }
}
