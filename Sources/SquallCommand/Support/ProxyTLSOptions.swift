import ArgumentParser
import EventLoop
import FaultProfile
import HTTPTransport
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRunners
import TerminalDisplay

/// The options of proxies that speak TLS. Commands have `TLSOptions` beside them, not in them: an ArgumentParser that isn't
/// optimized reads an option of a nested group 64 times at each start, and one of a group 16 times.
struct ProxyTLSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The name that the upstream's certificate must be for, in place of its host.",
            valueName: "name"
        )
    )
    var upstreamName: String?

    @Option(
        help: ArgumentHelp(
            "A PEM file with the certificate, and its chain, for clients; without it Squall makes an authority.",
            valueName: "file"
        ),
        completion: .file()
    )
    var tlsCert: String?

    @Option(
        help: ArgumentHelp("A PEM file with the private key of --tls-cert.", valueName: "file"),
        completion: .file()
    )
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "The authority for clients, from squall authority create, in place of one for this run.",
            valueName: "file"
        ),
        completion: .file()
    )
    var authority: String?

    @Option(
        help: ArgumentHelp(
            "Write the secrets of TLS to this file, so that Wireshark can decrypt it; so can whoever has the file.",
            valueName: "file"
        ),
        completion: .file()
    )
    var keyLog: String?

    func validate() throws {
        try PEMFiles.check("--tls", tlsCert, tlsKey)
        if tlsCert != nil, authority != nil {
            throw ValidationError("--authority and --tls-cert are for the same: give one of them")
        }
        if let upstreamName, upstreamName.isEmpty || upstreamName.contains(where: { $0.isWhitespace || $0 == ":" }) {
            throw ValidationError("--upstream-name is the name of a host alone, such as api.example.com")
        }
    }

    /// The paths of the files that are read.
    var paths: [String?] { [tlsCert, tlsKey, authority] }

    private var options: [(String, String?)] {
        [
            ("--upstream-name", upstreamName), ("--tls-cert", tlsCert), ("--tls-key", tlsKey),
            ("--authority", authority),
            ("--key-log", keyLog),
        ]
    }

    /// The options that were given, as they were.
    var arguments: [String] { options.flatMap { name, value in value.map { [name, $0] } ?? [] } }

    /// Gives TLS to the proxies whose addresses have it. With a key log the secrets are in the capture as well; it is written
    /// over none of `inputs`.
    ///
    /// - Returns: the authority that the clients have to trust; `nil` if there is none.
    func apply(
        to configurations: inout [ProxyConfiguration],
        client: TLSOptions,
        intercepting hosts: [HostPattern] = [],
        capturing capture: Capture? = nil,
        reading inputs: InputFiles = InputFiles()
    ) throws(CommandFailure) -> TrustFile? {
        inputs.note(client.paths + paths)
        let given = (client.arguments + arguments).first
        let isForward = configurations.contains { $0.destination.policy != nil }
        guard hosts.isEmpty || isForward else {
            throw .wrongInput(
                "--intercept is for clients that name their hosts: write --forward-proxy PORT, or squall exec"
            )
        }
        let listens = !hosts.isEmpty || configurations.contains { $0.listen.usesTLS }
        let connects =
            !hosts.isEmpty || configurations.contains { $0.destination.upstream?.usesTLS ?? false }
        guard listens || connects else {
            if let given {
                throw .wrongInput(
                    isForward
                        ? "\(given) is for hosts that are intercepted: write --intercept HOST"
                        : "\(given) is for addresses with TLS: write tls:HOST:PORT, or https://HOST"
                )
            }
            return nil
        }
        if tlsCert ?? authority != nil, !listens {
            throw .wrongInput(
                "\(tlsCert == nil ? "--authority" : "--tls-cert") is for clients with TLS: write --listen tls:HOST:PORT"
            )
        }
        if upstreamName ?? client.caFile ?? client.clientCert != nil, !connects {
            throw .wrongInput("\(given ?? "") is for an upstream with TLS: write --upstream tls:HOST:PORT")
        }
        var settings = ProxyTLSSettings()
        (settings.authorities, settings.clientIdentity) = try client.texts()
        let files = PEMFiles("--tls", tlsCert, tlsKey)
        settings.identity = try files?.identity()
        settings.authority = try authority.map(LastingAuthority.text)
        settings.names = configurations.filter { $0.listen.usesTLS }.flatMap(ProxyTLSOptions.names)
        settings.intercepted = hosts.map(\.name)
        if let upstreamName { settings.names.append(upstreamName) }
        if let keyLog {
            try inputs.check(writing: "the key log", to: keyLog)
            let write = try KeyLogFile.writer(keyLog)
            capture?.awaitSecrets()
            settings.keyLog = { line in
                write(line)
                capture?.add(secrets: line)
            }
        }
        let made: (tls: ProxyTLS, certificate: String?)
        do throws(TLSSettingsProblem) {
            guard let tls = CommandServices.current.tls else { throw .unavailable }
            made = try tls.proxy(settings, listens: listens, connects: connects)
        } catch {
            if case .unavailable = error { throw .wrongInput("\(error); \(TLSFailure.buildAdvice)") }
            if error != .unreadableAuthorities, let files, client.clientCert == nil { throw files.failure(error) }
            throw client.failure(error)
        }
        for index in configurations.indices {
            configurations[index].tls = made.tls
            configurations[index].tls.upstreamName = upstreamName
            configurations[index].tls.authority = made.certificate
            configurations[index].tls.intercepted = hosts
        }
        guard let certificate = made.certificate else { return nil }
        return try TrustFile(certificate, of: authority.map { "“\($0)”" } ?? "this run")
    }

    /// Gives TLS to the connections of a command, which is to trust the authority.
    func apply(
        to runner: inout ExecRunner,
        client: TLSOptions,
        intercepting hosts: [HostPattern],
        capturing capture: Capture? = nil,
        reading inputs: InputFiles
    ) throws(CommandFailure) {
        var sides = [ProxyConfiguration(supervising: "", profile: Profile(name: ""), seed: 0)]
        runner.trust = try apply(
            to: &sides,
            client: client,
            intercepting: hosts,
            capturing: capture,
            reading: inputs
        )
        let (configure, tls) = (runner.configure, sides[0].tls)
        runner.configure = { configuration in
            configure(&configuration)
            configuration.tls = tls
        }
    }

    /// The names that clients of a proxy may ask for.
    private static func names(_ configuration: ProxyConfiguration) -> [String] {
        let hosts = [configuration.destination.upstream?.host, configuration.listen.host].compactMap(\.self)
        return hosts.filter { !$0.isEmpty && $0 != "0.0.0.0" && $0 != "::" }
    }
}
