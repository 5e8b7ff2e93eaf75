import ArgumentParser
import CommandParsing
import EventLoop
import FaultProfile
import OperatingSystem
import ProxyRuntime
import Synchronization
import TerminalDisplay
import Units

/// `squall demo`: an origin server, the proxy and the resumable client in one process.
package struct DemoCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Download and upload a file across a bad network, and prove that it arrived both times.",
        discussion: """
            Runs an origin server, a proxy with the profile and the resumable client in one process, on free \
            loopback ports: first a download, then an upload, for which the profile starts anew. Shows what \
            happens on a terminal; each transfer ends with a summary and the SHA-256 digests of what was sent and \
            what arrived. Exits with 0 only if they are equal. The same seed makes the same faults.

            Without --size each transfer has as many bytes as show the whole profile: until 3 s after its last phase has \
            begun, or in 20 s without phases; at most in 30 s, and at most 64 MiB. On a terminal, one that the \
            network doesn't slow down takes 8 s.

            A command behind -- runs in place of the transfers, unchanged, as by squall exec. The page shows its network, \
            and changes it, with --page or without; the demo ends with the command.

            Example: squall demo elevator --size 16MiB
            Example: squall demo wifi-roam -- npm start
            """
    )

    @Argument(
        help: """
            The profile: a path, the name of a shipped one, or - for standard input. (default: wifi-walkaway, unless \
            options give faults)
            """,
        completion: ProfileCompletion.kind
    )
    var profile: String?

    @Argument(
        parsing: .postTerminator,
        help: "A command and its arguments, behind --, to run in place of the transfers."
    )
    var command: [String] = []

    @OptionGroup var faults: FaultOptions

    @Option(
        help: "The size of the file with its unit, from 1 B to 16 GiB. (default: what shows the profile)",
        transform: ArgumentReading.size
    )
    var size: ByteCount?

    @Option(help: "The seed of every draw; without it the profile's, or a new one, which is printed.")
    var seed: UInt64?

    @Option(help: ArgumentHelp("A download is downstream, an upload upstream.", valueName: "direction"))
    var direction = DemoDirection.both

    @Option(
        help: ArgumentHelp(
            "Keep the sent and the received files in this folder: a new one, an empty one, or that of an earlier demo.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var keep: String?

    @Option(help: ArgumentHelp("How events are told.", valueName: "format"))
    var events = EventFormat.text

    @Flag(
        help: """
            Show the queue: 20 transfers of mixed sizes, through wifi-roam unless another profile is given, whose daemon \
            is killed twice on the way. --size is that of the largest file.
            """
    )
    var queue = false

    @Flag(
        help: """
            Show the demo on a page, where the network can be changed as well: without a command it begins when the page \
            is opened, and starts again after each end, until Ctrl-C.
            """
    )
    var page = false

    @Option(help: "The port of the page; 0 takes a free one. (default: 8474)")
    var port: Int?

    package init() {}

    package func validate() throws {
        guard page || !command.isEmpty || port == nil else {
            throw ValidationError("--port is the port of the page: give --page as well")
        }
        guard (0...65_535).contains(port ?? 0) else { throw ValidationError("--port is from 0 to 65535") }
        if !command.isEmpty, queue || keep != nil || direction != .both || size != nil || events != .text {
            throw ValidationError(
                "--queue, --keep, --direction, --size and --events are for transfers, not for a command"
            )
        }
        if queue, page || keep != nil || direction != .both {
            throw ValidationError("--queue goes without --page, --keep and --direction")
        }
        if queue, let size, size > .mebibytes(64) { throw ValidationError("--size with --queue is 64 MiB at most") }
        if let size, size.bytes <= 0 || size > .mebibytes(16 << 10) {
            throw ValidationError("--size is from 1 B to 16 GiB, such as 64MiB")
        }
    }

    package func run() async throws {
        let usual = queue ? "wifi-roam" : "wifi-walkaway"
        let whole = try faults.chosen(profile ?? (faults.faults.isEmpty ? usual : nil)).read()
        if faults.printProfile { return faults.write(whole, seed: seed) }
        try whole.check(actsOn: "demo", "that of the demo has this name; squall run has --name")
        let profile = whole.narrowed(to: "demo")
        let seed = seed ?? profile.seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        if !command.isEmpty {
            return try await DemoCommand.parts("a command", "-- COMMAND").run(
                command,
                behind: profile,
                seed: seed,
                port: port ?? 8474
            )
        }
        if queue {
            let parts = try DemoCommand.parts("--queue", "--queue")
            return try await withRuntime { loops, interrupt in
                try await parts.runQueue(profile, seed: seed, largest: size, events, loops, until: interrupt)
            }
        }
        let direction = direction
        let parts = try page ? DemoCommand.parts("--page", "--page") : nil
        try await withRuntime { loops, interrupt in
            let sizes = DemoSizes(size, of: direction.transfers, profile, seed: seed)
            let files = try DemoFiles(
                download: sizes[.download].bytes,
                upload: sizes[.upload].bytes,
                seed: seed,
                keptIn: keep
            )
            defer { files.remove() }
            let page = parts?.page(profile, seed: seed, loops: loops)
            let demo = Demo(
                profile: profile,
                seed: seed,
                files: files,
                format: events,
                network: page ?? DemoProxy(profile: profile, seed: seed, loops: loops),
                sizes: sizes
            )
            guard let page else { return try await demo.run(direction.transfers, until: interrupt) }
            try await page.serve(port: port ?? 8474, until: interrupt, ready: tellPage) {
                () async throws(CommandFailure) in
                try await demo.run(direction.transfers, until: interrupt)
            }
        }
    }

    private func tellPage(_ url: String) {
        switch events {
        case .text: Console.print("open \(url) in a browser: the demo begins then, and ends with Ctrl-C")
        case .json: EventFormat.writeJSON(DemoPageReady(url: url))
        }
    }

    /// The parts of the whole program, which sets them before the command runs; `nil` in others. No task-local value: the
    /// optimizer of Swift 6.3 breaks one of a function within another one.
    package static let parts = Mutex<(any DemoParts)?>(nil)

    private static func parts(_ what: String, _ words: String) throws(CommandFailure) -> any DemoParts {
        guard let parts = parts.withLock({ $0 }) else {
            throw .wrongInput(
                "\(what) needs the whole command: run “make build”, then “.build/release/squall demo \(words)”"
            )
        }
        return parts
    }

    /// The open files that the demo needs: those of the process, of the event loops of two libraries, and some of connections.
    package static var openFiles: Int { 48 + 8 * ProcessLimits.processors }
}

/// What the whole program adds to the demo.
package protocol DemoParts: Sendable {
    /// The network of `--page`.
    func page(_ profile: Profile, seed: UInt64, loops: EventLoopGroup) -> any DemoPageNetwork

    /// Runs the demo of the queue, with the largest size, if one is given.
    func runQueue(
        _ profile: Profile,
        seed: UInt64,
        largest: ByteCount?,
        _ format: EventFormat,
        _ loops: EventLoopGroup,
        until interrupt: Interrupt
    ) async throws

    /// Runs a command with a page at a port, and ends like it.
    func run(_ command: [String], behind profile: Profile, seed: UInt64, port: Int) async throws
}

/// The JSON line that tells where the page of a demo is.
private struct DemoPageReady: Encodable {
    var event = "page"
    var url: String
}

/// The value of `--direction`.
enum DemoDirection: String, ExpressibleByArgument, CaseIterable {
    case both, downstream, upstream

    /// The transfers of the demo, in order.
    var transfers: [DemoTransfer] {
        switch self {
        case .both: [.download, .upload]
        case .downstream: [.download]
        case .upstream: [.upload]
        }
    }
}
