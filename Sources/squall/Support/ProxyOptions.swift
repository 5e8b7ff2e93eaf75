import ArgumentParser
import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import Units

extension Endpoint: ExpressibleByArgument {
    /// Reads "host:port" from the command line.
    public init?(argument: String) { self.init(argument) }
}

extension ByteCount: ExpressibleByArgument {
    /// Reads a size with its unit, such as "64MiB", from the command line.
    public init?(argument: String) {
        guard let size = try? ByteCount(parsing: argument) else { return nil }
        self = size
    }

    /// A default as help shows it, such as "64 MiB".
    public var defaultValueDescription: String { text }
}

/// The options that `run` takes for its proxies.
struct ProxyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "host:port"))
    var listen: Endpoint?

    @Option(help: ArgumentHelp("Where to forward to.", valueName: "host:port"))
    var upstream: Endpoint?

    @Option(help: "The proxy's name, in the journal and in every draw.")
    var name = "proxy"

    @Option(help: "The seed of every draw; without it the profile's, or a new one, which is printed.")
    var seed: UInt64?

    @Option(help: ArgumentHelp("Bytes that one direction of a connection may hold in memory.", valueName: "size"))
    var linkMemory = ByteCount.mebibytes(8)

    @Option(help: ArgumentHelp("Connections at a time; one more is reset.", valueName: "count"))
    var connectionLimit = 16_384

    func validate() throws {
        guard (listen == nil) == (upstream == nil) else {
            throw ValidationError("--listen and --upstream go together")
        }
        if upstream?.port == 0 { throw ValidationError("--upstream needs a port above 0") }
        guard connectionLimit > 0 else { throw ValidationError("--connection-limit is at least 1") }
        guard linkMemory >= .kibibytes(4), linkMemory <= .mebibytes(1_024) else {
            throw ValidationError("--link-memory is from 4 KiB to 1024 MiB")
        }
    }

    /// The proxies to run: the one of the command line, or else those of the profile. Their clocks start at
    /// `clockStart`, or when they do.
    func configurations(
        for profile: Profile,
        clockStart: Moment?
    ) throws(CommandFailure) -> [ProxyConfiguration] {
        let seed = seed ?? profile.seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        var definitions = profile.proxies.compactMap { definition -> (String, Endpoint, Endpoint)? in
            guard let listen = Endpoint(definition.listen), let upstream = Endpoint(definition.upstream) else {
                return nil
            }
            return (definition.name, listen, upstream)
        }
        if let listen, let upstream { definitions = [(name, listen, upstream)] }
        guard !definitions.isEmpty else {
            throw .wrongInput("the profile defines no proxy: give --listen HOST:PORT and --upstream HOST:PORT")
        }
        let globalBuckets = GlobalBuckets(profile, start: clockStart ?? MonotonicClock.now)
        return definitions.map { name, listen, upstream in
            var configuration = ProxyConfiguration(
                name: name,
                listen: listen,
                upstream: upstream,
                profile: profile,
                seed: seed
            )
            configuration.linkHoldLimit = linkMemory
            configuration.globalBuckets = globalBuckets
            configuration.clockStart = clockStart
            configuration.connectionLimit = connectionLimit
            return configuration
        }
    }
}
