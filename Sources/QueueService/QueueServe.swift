import ArgumentParser
import CommandParsing
import FoundationEssentials
import OperatingSystem
import ProfileFiles
import ProxyRuntime
import SquallTransfer
import TerminalDisplay
import TransferProtocol
import TransferQueue
import Units

/// `squall queue serve`: the daemon, in the foreground.
struct QueueServe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the queue's daemon in the foreground; submit starts one by itself.",
        discussion: "Exits with 75 if another daemon has the queue."
    )

    @Option(
        help: ArgumentHelp("End when there has been nothing to do for this time. (default: 10 min)", valueName: "time"),
        transform: ArgumentReading.duration
    )
    var idle = Duration.seconds(600)

    @Flag(help: "Don't end when idle.")
    var stay = false

    @OptionGroup var daemon: QueueDaemonOptions

    @OptionGroup var options: QueueOptions

    func run() async throws {
        let place = try QueuePlace(options.name)
        let costs = try daemon.costs()
        try place.makeFolder()
        let log = try CommandFailure.attempting("can't write “\(place.log)”") { try BoundedLog(place.log) }
        let interrupt = try await Interrupt.watch()
        let queue = try await open(log, daemon.configuration(costs))
        if DetachedProgram.isSelf { _ = FileManager.default.changeCurrentDirectoryPath("/") }
        let server = QueueServer(queue, log)
        let (idle, stay) = (idle, stay)
        let serving = Task {
            try await server.run(place.socket.path) {
                log.write("serves, process \(ProcessInfo.processInfo.processIdentifier)")
                if let line = costs.line { log.write("networks: \(line)") }
                Console.print("ready: \(place.socket.path)")
                DetachedProgram.tellReady()
            }
        }
        Task {
            await interrupt.wait()
            log.write("ends: a signal")
            serving.cancel()
        }
        if !stay {
            Task {
                await server.waitUntilIdle(for: idle)
                log.write("ends: nothing to do")
                serving.cancel()
            }
        }
        let result = await serving.result
        await queue.close()
        if case .failure(let error) = result, !(error is CancellationError) {
            log.write("ends: \(error)")
            throw CommandFailure.failed("can't serve “\(place.socket.path)”: \(error)")
        }
    }

    private func open(
        _ log: BoundedLog,
        _ configuration: TransferQueueConfiguration
    ) async throws(CommandFailure) -> TransferQueue {
        var configuration = configuration
        configuration.log = { log.write($0) }
        do throws(TransferQueueError) {
            return try await TransferQueue(
                identifier: options.name,
                configuration: configuration,
                tls: TransferTLS().client,
                proxies: ProxySettings(environment: ProcessInfo.processInfo.environment)
            )
        } catch {
            log.write("can't open the queue: \(error)")
            throw error.code == .locked
                ? CommandFailure(code: .resumable, message: "\(error.message) by “squall queue”")
                : .failed(error.message)
        }
    }
}
