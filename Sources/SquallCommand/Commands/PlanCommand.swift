import ArgumentParser
import CommandParsing
import EventLoop
import FaultPlan
import FaultProfile
import Forecast
import ProfileFiles
import ProxyRunners
import TerminalDisplay
import TransferClient
import TransferProtocol
import TransferReports
import Units

/// `squall plan`: draws a profile over time and predicts a transfer, without opening a socket.
struct PlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Draw a profile over time, and predict what becomes of a transfer through it.",
        discussion: """
            Runs the proxy's own links in virtual time, with a client that resumes as `squall get` does, so the time, \
            the connections, the cuts and the pauses are those of a run with the same seed and name: the time within 3 %, \
            or 10 % with loss, unless the end tells of something assumed that a run may do otherwise. The machines and the \
            real network cost no time in it.

            With --journal it draws a run that happened: the events of the journal over the time of its profile. With --pcap \
            it draws a capture over the time of a profile: its connections, and the faults that it tells of.

            Example: squall plan wifi-walkaway --size 64MiB --seed 7 --svg walkaway.svg
            Example: squall plan --latency 80ms --loss 1% --size 16MiB
            """
    )

    /// The most bytes of a capture: 1 GiB.
    private static let largestCapture = 1 << 30

    @Argument(
        help: """
            The profile: a path, the name of a shipped one, or - for standard input. With --journal it may be left out.
            """,
        completion: ProfileCompletion.kind
    )
    var profile: String?

    @OptionGroup var faults: FaultOptions

    @Option(
        help: ArgumentHelp("Draw the run that wrote this journal instead of a prediction.", valueName: "file"),
        completion: .file()
    )
    var journal: String?

    @Option(
        help: ArgumentHelp("Draw this capture of squall run --pcap over the profile.", valueName: "file"),
        completion: .file()
    )
    var pcap: String?

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
        help: "The proxy's name, on which every draw depends; that of `squall run` is proxy. (default: demo)",
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

    @Option(help: ArgumentHelp("Draw it into this file as well, as SVG.", valueName: "file"), completion: .file())
    var svg: String?

    @Option(
        help: ArgumentHelp(
            "Draw it into this file as well, as PNG of 1920 pixels in width, by rsvg-convert.",
            valueName: "file"
        ),
        completion: .file()
    )
    var png: String?

    @Option(
        help: ArgumentHelp(
            "The columns of the text, from 60 to 500; without it those of the terminal, or 80.",
            valueName: "number"
        )
    )
    var columns: Int?

    @Option(help: ArgumentHelp("The format of the drawing; json has its points and labels.", valueName: "format"))
    var format = EventFormat.text

    @Option(help: ArgumentHelp("The format of the prediction; json is its figures alone.", valueName: "format"))
    var events = EventFormat.text

    @Flag(help: "Exit with 1 unless the transfer is predicted to complete.")
    var failUnlessComplete = false

    func validate() throws {
        if journal == nil { try faults.check(profile) }
        if pcap != nil, journal != nil {
            throw ValidationError("--pcap and --journal are drawn one by one: leave out one")
        }
        let isPrediction = faults.printProfile || name != nil || client != nil || failUnlessComplete || events == .json
        if pcap != nil, isPrediction || proxy != nil {
            throw ValidationError(
                "--pcap shows a run that happened: leave out --name, --proxy, --client, --events, --print-profile and "
                    + "--fail-unless-complete"
            )
        }
        let predicts = !faults.faults.isEmpty || seed != nil || isPrediction
        if journal != nil, predicts {
            throw ValidationError(
                "--journal shows a run that happened: leave out --seed, --name, --client, --events, "
                    + "--fail-unless-complete and options for faults, which are for a prediction"
            )
        }
        if format == .json, events == .json {
            throw ValidationError("--format json and --events json both write to standard output: leave out one")
        }
        if let columns, !PlanText.widths.contains(columns) {
            let (least, most) = (PlanText.widths.lowerBound, PlanText.widths.upperBound)
            throw ValidationError("--columns is from \(least) to \(most)")
        }
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

    func run() async throws {
        if let journal { return try await draw(journal: journal) }
        let inputs = InputFiles()
        let whole = try faults.chosen(profile).read(noting: inputs)
        if faults.printProfile { return faults.write(whole, seed: seed) }
        if let pcap { return try await draw(capture: pcap, over: whole, inputs) }
        let report = try prediction(of: whole)
        if events == .json {
            EventFormat.writeJSON(PlanPrediction(report))
            try checkFiles(inputs)
            try await write(PlanPicture(report))
        } else {
            try await show(PlanPicture(report), PlanPrediction(report), inputs)
        }
        if failUnlessComplete, report.forecast.outcome != .complete {
            throw CommandFailure.failed("the transfer isn't predicted to complete: \(report.verdict)")
        }
    }

    /// Draws the run of a journal.
    private func draw(journal: String) async throws {
        let inputs = InputFiles(journal)
        let given = try profile.map { name throws(CommandFailure) in
            try ProfileLibrary.profile(name, noting: inputs)
        }
        let file = try JournalFile.read(journal, profile: given, noting: inputs)
        let recording = try file.recording(of: try file.proxy(proxy, option: "--proxy"), direction, path: journal)
        try await show(PlanPicture(recording), nil, inputs)
    }

    /// Draws a capture over a profile.
    private func draw(capture path: String, over profile: Profile, _ inputs: InputFiles) async throws {
        inputs.note(path)
        let limit = PlanCommand.largestCapture
        let bytes = try RegularFile.bytes(of: path, limit: limit + 1, named: "the capture “\(path)”")
        guard bytes.count <= limit else {
            throw CommandFailure.wrongInput(
                "the capture “\(path)” has more than 1 GiB: write it with --pcap-limit or --pcap-snap"
            )
        }
        guard let (events, startsAtFirstPacket) = CaptureReader.events(of: bytes.span) else {
            throw CommandFailure.wrongInput("“\(path)” has no packet of a client: write it with squall run --pcap")
        }
        let seed = seed ?? profile.seed ?? 1
        let recording = PlanRecording(
            profile: profile,
            heading: "The capture \(path.quoted), \(direction.rawValue), over the profile with seed \(seed)",
            seed: seed,
            direction: direction,
            events: events,
            note: startsAtFirstPacket
                ? "the capture doesn't tell when the clock started, so times count from its first packet" : nil
        )
        try await show(PlanPicture(recording), nil, inputs)
    }

    /// Predicts the transfer through a profile.
    private func prediction(of whole: Profile) throws(CommandFailure) -> PlanReport {
        let name = try proxyName(in: whole)
        let profile = whole.narrowed(to: name)
        let seed = seed ?? profile.seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        let transfer = Transfer(direction: direction, bytes: size)
        var client = ClientModel(TransferClientConfiguration(), direction)
        client.headBytes = head.bytes
        // The only proxy's, if none is chosen.
        let proxies = whole.proxies.filter { $0.name == name || whole.proxies.count == 1 }
        let upstream = proxies.first.flatMap { Endpoint($0.upstream) }
        let port = upstream.flatMap { $0.unix == nil ? $0.port : nil }
        client.facts = ConnectionFacts(client: self.client, port: port)
        let forecast = TransferForecast(
            of: transfer,
            through: Plan(profile: profile, seed: seed, proxy: name, start: .zero),
            client: client,
            retries: ClientRetries(seed: seed),
            limit: until
        )
        return PlanReport(profile: profile, seed: seed, transfer: transfer, client: client, forecast: forecast)
    }

    /// Tells a picture on standard output, and draws it into the files of `--svg` and `--png`.
    private func show(_ picture: PlanPicture, _ prediction: PlanPrediction?, _ inputs: InputFiles) async throws {
        try checkFiles(inputs)
        switch format {
        case .text:
            let width = columns ?? PlanCommand.usualColumns
            Console.print(lines: PlanText(picture, width: width, glyphs: PlanCommand.glyphs).text)
        case .json: EventFormat.writeJSON(PlanDocument(picture, prediction))
        }
        try await write(picture)
    }

    private func checkFiles(_ inputs: InputFiles) throws {
        for (option, file) in [("--svg", svg), ("--png", png)] {
            try inputs.check(writing: "the drawing of \(option)", to: file)
        }
    }

    private func write(_ picture: PlanPicture) async throws {
        let text = PlanSVG(picture).text
        if let svg { try OutputFile(path: svg).write(text) }
        if let png { try await PNGFile(path: png).write(svg: text) }
    }

    /// The characters of the text: ASCII on a terminal without others, and in a pipe if the locale has no others.
    private static var glyphs: PlanGlyphs {
        let abilities = TerminalAbilities.ofProcess
        let hasUnicode = Console.isOutputTerminal ? abilities.hasUnicode : abilities.writesUnicode
        return hasUnicode ? .unicode : .ascii
    }

    /// The columns of the text if none are given.
    private static var usualColumns: Int {
        Console.isOutputTerminal ? TerminalAbilities.columns : TerminalAbilities.usualColumns
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

extension Direction: ExpressibleByArgument {}
