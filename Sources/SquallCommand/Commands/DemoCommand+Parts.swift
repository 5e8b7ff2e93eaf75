import CommandParsing
import ControlService
import Demonstration
import EventLoop
import FaultProfile
import ProfileFiles
import ProxyRunners
import ProxyRuntime
import QueueService
import TerminalDisplay
import Units

/// What the whole command adds to the demo.
struct CommandDemoParts: DemoParts {
    func page(_ profile: Profile, seed: UInt64, loops: EventLoopGroup) -> any DemoPageNetwork {
        DemoPage(profile: profile, seed: seed, loops: loops) { () throws(CommandFailure) in
            try CommandServices.server()
        }
    }

    func runQueue(
        _ profile: Profile,
        seed: UInt64,
        largest: ByteCount?,
        _ format: EventFormat,
        _ loops: EventLoopGroup,
        until interrupt: Interrupt
    ) async throws {
        try await QueueDemo.run(profile, seed: seed, largest: largest, format, loops, until: interrupt)
    }

    func run(_ command: [String], behind profile: Profile, seed: UInt64, port: Int) async throws {
        var runner = ExecRunner(
            profile,
            name: "demo",
            seed: seed,
            targets: TargetSelection(),
            allowsUnproxied: false,
            journal: nil,
            threads: 0,
            inputs: InputFiles()
        )
        runner.page = try CommandPage(port: port)
        try await ExecCommand.finish(runner, command)
    }
}
