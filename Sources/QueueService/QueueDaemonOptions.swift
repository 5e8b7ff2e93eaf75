import ArgumentParser
import TerminalDisplay
import TransferQueue

/// The settings of a daemon.
struct QueueDaemonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Transfers that run at a time.", valueName: "count"))
    var running = 8

    @Option(help: ArgumentHelp("Transfers that run at a time with one host.", valueName: "count"))
    var perHost = 4

    @Option(help: ArgumentHelp("An interface whose network is expensive. Can be given again.", valueName: "interface"))
    var metered: [String] = []

    @Option(
        help: ArgumentHelp("An interface whose network is constrained. Can be given again.", valueName: "interface")
    )
    var constrained: [String] = []

    func validate() throws {
        guard running > 0, perHost > 0 else { throw ValidationError("--running and --per-host are at least 1") }
    }

    /// The interfaces whose networks cost something, those of the user's file included.
    func costs() throws(CommandFailure) -> NetworkCosts {
        var costs = try NetworkCosts()
        costs.expensive.formUnion(metered)
        costs.constrained.formUnion(constrained)
        return costs
    }

    /// The settings of its queue.
    func configuration(_ costs: NetworkCosts) -> TransferQueueConfiguration {
        var configuration = TransferQueueConfiguration()
        configuration.limits.maximumRunning = running
        configuration.limits.maximumPerHost = perHost
        configuration.expensiveInterfaces = costs.expensive
        configuration.constrainedInterfaces = costs.constrained
        return configuration
    }

    /// The arguments that give these settings again.
    var arguments: [String] {
        ["--running", "\(running)", "--per-host", "\(perHost)"] + metered.flatMap { ["--metered", $0] }
            + constrained.flatMap { ["--constrained", $0] }
    }
}
