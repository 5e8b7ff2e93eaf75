import ArgumentParser
import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import Synchronization
import Units

/// `squall run`: the proxy in the foreground.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a profile between clients and a server, until Ctrl-C.",
        discussion: """
            Prints one ready line for each proxy, with the address it is bound to. On a terminal every fault that \
            acts is told as it happens; --journal writes them as JSON Lines. With --journal - standard output has the \
            journal alone, and the ready lines are on standard error.

            Example: squall run cut-every-mebibyte --listen 127.0.0.1:8081 --upstream 127.0.0.1:8080
            """
    )

    @Argument(help: "The profile: a path, or the name of a shipped one.")
    var profile: String

    @OptionGroup var proxy: ProxyOptions

    @Option(help: ArgumentHelp("Write a line for each fault that acts; - is standard output.", valueName: "file"))
    var journal: String?

    @Option(help: "Event loops, a thread each; 0 is one for each processor.")
    var threads = 0

    func validate() throws {
        guard (0...256).contains(threads) else { throw ValidationError("--threads is from 0 to 256") }
    }

    func run() async throws {
        let configurations = try proxy.configurations(for: ProfileLibrary.profile(profile))
        ProcessLimits.raiseOpenFiles()
        let output = try openJournal()
        let loops: EventLoopGroup
        let interrupt: Interrupt
        do throws(SystemError) {
            loops = try EventLoopGroup(count: threads)
            interrupt = try await Interrupt.watch(on: loops.loops[0])
        } catch {
            throw CommandFailure.failed("can't start the event loops: \(error)")
        }
        let journal = output.map(Journal.init)
        let narrator = Console.isTerminal ? Narrator() : nil
        let warnings = Warnings()
        var proxies: [Proxy] = []
        for configuration in configurations {
            do throws(ProxyError) {
                let proxy = try await Proxy.start(
                    configuration,
                    on: loops,
                    journal: { entry in
                        journal?.record(entry)
                        narrator?.tell(entry)
                    },
                    report: { event in warnings.tell(event) }
                )
                proxies.append(proxy)
            } catch {
                for proxy in proxies { await proxy.stop() }
                throw CommandFailure.failed(error.description)
            }
        }
        for proxy in proxies { announce(proxy) }
        await interrupt.wait()
        for proxy in proxies { await proxy.stop() }
        await loops.stop()
        try RunCommand.finish(output)
    }

    private func openJournal() throws(CommandFailure) -> LineWriter? {
        guard let journal else { return nil }
        do {
            return try LineWriter(path: journal)
        } catch {
            throw .wrongInput("can't write the journal “\(journal)”: \(error)")
        }
    }

    /// Tells where a proxy listens: on standard output, or where that has the journal, on standard error.
    private func announce(_ proxy: Proxy) {
        let configuration = proxy.configuration
        let line =
            "ready: \(proxy.address) -> \(configuration.upstream) "
            + "(proxy “\(configuration.name)”, profile “\(configuration.profile.name)”, seed \(configuration.seed))"
        if journal == "-" {
            Console.error(lines: line)
        } else {
            Console.print(line)
        }
    }

    /// Writes out what the journal still holds.
    private static func finish(_ output: LineWriter?) throws(CommandFailure) {
        guard let (dropped, failure) = output?.flush() else { return }
        if let failure { throw .failed("the journal is incomplete: \(failure); \(dropped) lines were lost") }
        if dropped > 0 { throw .failed("the journal is incomplete: \(dropped) lines came too fast and were lost") }
    }
}
