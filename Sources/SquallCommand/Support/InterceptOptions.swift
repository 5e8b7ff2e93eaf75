import ArgumentParser
import FaultProfile

/// The option for TLS with hosts that clients name.
struct InterceptOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Decrypt TLS to this host, so that faults reach its requests and responses: api.example.com or \
            *.example.com. Its clients have to trust Squall's authority. Can be given again.
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
