import ArgumentParser
import FaultProfile

/// The option for TLS with hosts that clients name.
struct InterceptOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Speak TLS with the clients of this host, and with the host, where clients name it to a forward proxy or a \
            command connects to it: api.example.com or *.example.com. Can be given again.
            """,
            valueName: "host"
        ),
        transform: InterceptOptions.host
    )
    var intercept: [HostPattern] = []

    func validate() throws {
        guard intercept.count <= ProfileLimits.triggerValues else {
            throw ValidationError("--intercept is given at most \(ProfileLimits.triggerValues) times")
        }
    }

    /// The options that were given, as they were.
    var arguments: [String] { intercept.flatMap { ["--intercept", $0.text] } }

    private static func host(_ argument: String) throws -> HostPattern {
        guard let host = try? HostPattern(parsing: argument), host.port == nil else {
            throw ValidationError(
                "write the name of a host alone, such as api.example.com or *.example.com, without a scheme, a port or a path"
            )
        }
        return host
    }
}
