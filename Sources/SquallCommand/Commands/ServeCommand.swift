import ArgumentParser
import CommandParsing
import ProfileFiles
import TerminalDisplay

/// `squall serve`: proxies that change while they run, by HTTP.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run proxies that programs change by HTTP, with Toxiproxy's API, until Ctrl-C.",
        discussion: """
            Every client library of Toxiproxy works with it. The port is reachable from this machine only, unless --host \
            says otherwise.

            --forward-proxy makes a proxy called “forward”, whose clients name the hosts: the page and the API change its \
            network while a browser or a phone uses it.

            --api-cert and --api-key have the API speak https, for programs on other machines; squall ctl takes such a URL.

            A proxy whose address begins with tls: speaks TLS on that side. Its certificate is for localhost, 127.0.0.1 and \
            ::1, by an authority that is made with the first such proxy, or of --authority. --intercept is for the clients of \
            --forward-proxy.

            Example: squall serve --config proxies.json
            Example: squall serve --forward-proxy :8888
            """
    )

    @Option(help: "The address of the API: a name or a numeric address; 0.0.0.0 is every one of IPv4.")
    var host = "localhost"

    @Option(help: "The port of the API; 0 takes a free one.")
    var port = 8474

    @Option(
        help: ArgumentHelp(
            "Make the proxies of a JSON file at the start: a list as for POST /populate, in which toxics and profiles count.",
            valueName: "file"
        ),
        completion: .file()
    )
    var config: String?

    @Flag(
        help: ArgumentHelp(
            "Report problems of --config and start anyway, as toxiproxy-server does.",
            visibility: .hidden
        )
    )
    var startsAnyway = false

    @Option(
        help: ArgumentHelp(
            "Keep proxies and stored profiles in this file, and start with them; --config is read as long as it isn't there.",
            valueName: "file"
        ),
        completion: .file()
    )
    var state: String?

    @Option(
        help: ArgumentHelp(
            "Offer the profiles of this folder by name, and apply changes of their files to the proxies that run them.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var profiles: String?

    @Option(help: "The seed of every draw; without it a new one, which is printed.")
    var seed: UInt64?

    @OptionGroup var start: StartOptions

    @OptionGroup var forward: ForwardOptions

    @OptionGroup var background: DetachOptions

    @OptionGroup var captures: CaptureOptions

    @OptionGroup var captureLimits: CaptureLimitOptions

    @OptionGroup var client: TLSOptions

    @OptionGroup var tls: ProxyTLSOptions

    @OptionGroup var interception: InterceptOptions

    @Option(help: ArgumentHelp("Show the jobs of this queue on the page, such as default.", valueName: "name"))
    var queue: String?

    @Flag(help: "Keep quirks of Toxiproxy that a test may rely on; see docs/toxiproxy.md.")
    var strictCompat = false

    @Option(
        help: ArgumentHelp("Let browsers reach the server by this name as well.", valueName: "name")
    )
    var allowHost: [String] = []

    @Option(
        help: ArgumentHelp(
            "Ask every request for the bearer token in this file. (default: that in SQUALL_TOKEN, if set)",
            valueName: "file"
        ),
        completion: .file()
    )
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Serve the API and the page by https, with the certificate of this PEM file, and its chain.",
            valueName: "file"
        ),
        completion: .file()
    )
    var apiCert: String?

    @Option(
        help: ArgumentHelp("A PEM file with the private key of --api-cert.", valueName: "file"),
        completion: .file()
    )
    var apiKey: String?

    @Option(help: "Event loops of the proxies, a thread each; 0 is one for each processor.")
    var threads = 0

    func validate() throws {
        try captureLimits.check(captures.pcap)
        guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535") }
        guard (0...256).contains(threads) else { throw ValidationError("--threads is from 0 to 256") }
        try PEMFiles.check("--api", apiCert, apiKey)
        try captureLimits.check(isForward: forward.forwardProxy != nil)
        if !interception.intercept.isEmpty, forward.forwardProxy == nil {
            throw ValidationError("--intercept is for clients that name their hosts: write --forward-proxy PORT")
        }
        if captures.pcap == "-" { throw ValidationError("--pcap: standard output has the ready line: name a file") }
    }

    /// Checks the files that are written.
    func checkOutputs(_ inputs: InputFiles) throws(CommandFailure) {
        try captures.check(reading: inputs, beside: nil, keyLog: tls.keyLog)
        try inputs.check(writing: "the state", to: state)
    }

    func run() async throws {
        if background.detach {
            // The background process has other outputs than the one that people start.
            try checkOutputs(InputFiles())
        }
        if try background.hasStarted("serve") { return }
        try await serve()
    }
}
