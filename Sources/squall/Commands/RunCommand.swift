import ArgumentParser

/// `squall run`: the proxy in the foreground.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a profile between clients and a server, until Ctrl-C.",
        discussion: """
            Prints one ready line for each proxy, with the address it is bound to. On a terminal every fault that \
            acts is told as it happens; --journal writes them as JSON Lines, behind a line with the profile and the seed, \
            which is what squall replay and squall shrink take. With --journal - standard output has the journal alone, \
            and the ready lines are on standard error.

            At SIGHUP, and with --watch when a file of the profile changes, the profile is read again: live connections \
            go on with it from where they are, and lose no byte. One with a problem is told of, and changes nothing.

            Example: squall run cut-every-mebibyte --listen 127.0.0.1:8081 --upstream 127.0.0.1:8080
            """
    )

    @Argument(help: "The profile: a path, or the name of a shipped one.")
    var profile: String

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var start: StartOptions

    @Option(help: ArgumentHelp("Write a line for each fault that acts; - is standard output.", valueName: "file"))
    var journal: String?

    @Option(help: "Event loops, a thread each; 0 is one for each processor.")
    var threads = 0

    @Flag(help: "Read the profile again whenever one of its files changes.")
    var watch = false

    func validate() throws {
        guard (0...256).contains(threads) else { throw ValidationError("--threads is from 0 to 256") }
    }

    func run() async throws {
        let inputs = InputFiles()
        let read = try ProfileLibrary.profile(profile, noting: inputs)
        let configurations = try proxy.configurations(for: read, clockStart: start.moment)
        var runner = ProxyRunner(configurations: configurations, journal: journal, threads: threads, inputs: inputs)
        // Each proxy runs its own part of the profile.
        runner.recorded = read
        runner.watches = watch
        runner.reloader = ProfileReloader(
            profile,
            profile: read,
            files: inputs.wanted,
            addresses: proxy.addresses,
            hasSeed: proxy.seed != nil,
            globalBuckets: configurations.first?.globalBuckets
        )
        try await runner.run()
    }
}
