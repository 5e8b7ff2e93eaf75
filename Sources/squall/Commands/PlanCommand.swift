import ArgumentParser
import FaultPlan
import FaultProfile
import Forecast
import TransferClient
import TransferProtocol
import Units

/// `squall plan`: draws a profile over time and predicts a transfer, without opening a socket.
struct PlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Draw a profile over time, and predict what becomes of a transfer through it.",
        discussion: """
            Runs the proxy's own links in virtual time, with a client that resumes as `squall get` does, so the time, \
            the connections, the cuts and the pauses are those of a run with the same seed and name: the time within 3 %, \
            or 10 % with loss. What is assumed is told at the end; the machines and the real network cost no time in it.

            Example: squall plan wifi-walkaway --size 64MiB --seed 7 --svg walkaway.svg
            Example: squall plan --latency 80ms --loss 1% --size 16MiB
            """
    )

    @Argument(
        help: "The profile: a path, the name of a shipped one, or - for standard input.",
        completion: ProfileCompletion.kind
    )
    var profile: String?

    @OptionGroup var faults: FaultOptions

    @Option(
        help: "The size of the file with its unit, from 1 B to 16384 GiB. (default: 64 MiB)",
        transform: ArgumentReading.size
    )
    var size = ByteCount.mebibytes(64)

    @Option(help: ArgumentHelp("A download is downstream, an upload upstream.", valueName: "direction"))
    var direction = Direction.downstream

    @Option(help: "The seed of every draw; without it the profile's, or a new one, which is printed.")
    var seed: UInt64?

    @Option(
        help: "The proxy's name, part of every draw; that of `squall run` is proxy. (default: demo)",
        transform: ArgumentReading.proxyName
    )
    var name: String?

    @Option(help: "The proxy of the profile that is meant, if they don't all have the same faults.")
    var proxy: String?

    @Option(
        help: ArgumentHelp(
            "The bytes in front of the body of each answer, from 1 B to 64 KiB. (default: 320 B)",
            valueName: "size"
        ),
        transform: ArgumentReading.size
    )
    var head = ByteCount(320)

    @Option(help: ArgumentHelp("The client's address, for faults that go by it.", valueName: "address"))
    var client: String?

    @Option(
        help: ArgumentHelp("The virtual time after which the prediction ends. (default: 24 h)", valueName: "duration"),
        transform: ArgumentReading.duration
    )
    var until = Duration.seconds(86_400)

    @Option(help: ArgumentHelp("Draw it into this file as well, as SVG.", valueName: "file"))
    var svg: String?

    @Option(help: ArgumentHelp("How the prediction is told.", valueName: "format"))
    var events = EventFormat.text

    func validate() throws {
        try faults.check(profile)
        if name != nil, proxy != nil { throw ValidationError("--name is for a proxy that the profile doesn't define") }
        guard size.bytes > 0, size <= .mebibytes(16 << 20) else {
            throw ValidationError("--size is from 1 B to 16384 GiB, such as 64MiB")
        }
        if let client, IPAddress(client) == nil {
            throw ValidationError("--client is an IP address, such as 192.0.2.7")
        }
        guard head.bytes > 0, head <= .kibibytes(64) else {
            throw ValidationError("--head is from 1 B to 64 KiB, such as 320B")
        }
    }

    func run() throws {
        let inputs = InputFiles()
        let whole = try faults.chosen(profile).read(noting: inputs)
        if faults.printProfile { return faults.write(whole, seed: seed) }
        let name = try proxyName(in: whole)
        let profile = whole.narrowed(to: name)
        if let svg { try inputs.check(writing: "the drawing", to: svg) }
        let seed = seed ?? profile.seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        let transfer = Transfer(direction: direction, bytes: size)
        var client = ClientModel(TransferClientConfiguration())
        client.headBytes = head.bytes
        client.address = self.client
        let forecast = TransferForecast(
            of: transfer,
            through: Plan(profile: profile, seed: seed, proxy: name, start: .zero),
            client: client,
            retries: ClientRetries(seed: seed),
            limit: until
        )
        let report = PlanReport(profile: profile, seed: seed, transfer: transfer, client: client, forecast: forecast)
        switch events {
        case .text: Console.print(lines: PlanDrawing(report).text)
        case .json: EventFormat.writeJSON(PlanPrediction(report))
        }
        if let svg { try OutputFile(path: svg).write(PlanSVG(report).text) }
    }

    /// The name of the proxy to draw.
    private func proxyName(in profile: Profile) throws(CommandFailure) -> String {
        let names = profile.proxies.map(\.name)
        let list = names.joined(separator: ", ")
        guard let proxy else {
            guard profile.hasFaultsOfProxies, name == nil, !names.isEmpty else { return name ?? "demo" }
            throw .wrongInput(
                "the proxies of the profile have faults of their own: choose one with --proxy (it has \(list))"
            )
        }
        guard !names.contains(proxy) else { return proxy }
        guard !names.isEmpty else { throw .wrongInput("the profile defines no proxy: leave --proxy out") }
        throw .wrongInput("the profile has no proxy “\(proxy)” (it has \(list))")
    }
}

extension ClientModel {
    /// A model of Squall's own client, with its limits.
    init(_ configuration: TransferClientConfiguration) {
        self.init()
        connectLimit = configuration.connectLimit
        firstByteLimit = configuration.firstByteLimit
        stallWindow = configuration.stall.window
        stallBytes = configuration.stall.minimumBytes
    }
}

/// The backoff of Squall's own client.
struct ClientRetries: RetryModel {
    private var schedule: RetrySchedule

    init(seed: UInt64) {
        schedule = RetrySchedule(policy: RetryPolicy(), generator: SeededGenerator(seed: seed), startedAt: .zero)
    }

    mutating func reached(_ offset: Int64) { schedule.reached(offset) }

    mutating func failed(at now: Moment) -> Duration? {
        switch schedule.failed(at: now) {
        case .wait(let delay, _): delay
        case .giveUp: nil
        }
    }
}

extension Direction: ExpressibleByArgument {}
