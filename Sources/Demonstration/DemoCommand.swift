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

            With a command behind -- that runs in place of the transfers, unchanged, as by squall exec: the page shows its \
            network, and changes it.

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
        )
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
            Show the demo on a page, where the network can be changed as well: it begins when the page is opened, and \
            starts again after each end, until Ctrl-C.
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
        let profile = whole.narrowed(to: "demo")
        let seed = seed ?? profile.seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        if !command.isEmpty { return try await DemoCommand.commandDemo()(profile, seed, port ?? 8474, command) }
        if queue {
            let run = try DemoCommand.queueDemo()
            return try await withRuntime { try await run(profile, seed, size, events, $0, $1) }
        }
        let direction = direction
        let page = try page ? DemoCommand.madePage() : nil
        try await withRuntime { loops, interrupt in
            let sizes = DemoSizes(size, of: direction.transfers, profile, seed: seed)
            let files = try DemoFiles(
                download: sizes[.download].bytes,
                upload: sizes[.upload].bytes,
                seed: seed,
                keptIn: keep
            )
            defer { files.remove() }
            let page = page?(profile, seed, loops)
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

    /// Makes the network of --page.
    package typealias PageMaker = @Sendable (Profile, UInt64, EventLoopGroup) -> any DemoPageNetwork

    /// That of a program that has the control server, which sets it before the command runs; `nil` in others. No task-local
    /// value: the optimizer of Swift 6.3 breaks one of a function within another one.
    package static let pageMaker = Mutex<PageMaker?>(nil)

    /// Runs the demo of the queue: with the largest size, if one is given.
    package typealias QueueRunner =
        @Sendable (Profile, UInt64, ByteCount?, EventFormat, EventLoopGroup, Interrupt) async throws -> Void

    /// That of a program that has the queue, which sets it before the command runs; `nil` in others.
    package static let queueRunner = Mutex<QueueRunner?>(nil)

    private static func queueDemo() throws(CommandFailure) -> QueueRunner {
        guard let run = queueRunner.withLock({ $0 }) else {
            throw .wrongInput(
                "--queue needs the whole command: run “make build”, then “.build/release/squall demo --queue”"
            )
        }
        return run
    }

    /// Runs a command with a page at a port, and ends like it.
    package typealias CommandRunner = @Sendable (Profile, UInt64, Int, [String]) async throws -> Void

    /// That of a program that supervises commands, which sets it before the command runs; `nil` in others.
    package static let commandRunner = Mutex<CommandRunner?>(nil)

    private static func commandDemo() throws(CommandFailure) -> CommandRunner {
        guard let run = commandRunner.withLock({ $0 }) else {
            throw .wrongInput(
                "a command needs the whole program: run “make build”, then “.build/release/squall demo -- COMMAND”"
            )
        }
        return run
    }

    private static func madePage() throws(CommandFailure) -> PageMaker {
        guard let makePage = pageMaker.withLock({ $0 }) else {
            throw .wrongInput(
                "--page needs the whole command: run “make build”, then “.build/release/squall demo --page”"
            )
        }
        return makePage
    }

    /// The open files that the demo needs: those of the process, of the event loops of two libraries, and some of connections.
    package static var openFiles: Int { 48 + 8 * ProcessLimits.processors }
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
