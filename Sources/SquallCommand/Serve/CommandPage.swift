import ControlAPI
import ControlService
import EventLoop
import FaultPlan
import ProxyEngine
import ProxyRunners
import Synchronization
import TerminalDisplay

/// The control server of `squall exec --page`, with the proxy of the command's connections.
final class CommandPage: ExecPage {
    private static let host = "localhost"

    private struct Running {
        let proxies: ProxyManager
        let server: Task<Void, Never>
        /// Ends the server.
        let end: AsyncStream<Never>.Continuation
    }

    private let port: Int
    private let server: any ControlServing
    private let token: String?
    private let running = Mutex<Running?>(nil)

    /// A page at a port; 0 takes a free one.
    init(port: Int) throws(CommandFailure) {
        self.port = port
        server = try CommandServices.server()
        token = try BearerToken.read(from: nil)
    }

    func start(
        _ configuration: ProxyConfiguration,
        on loops: EventLoopGroup,
        record: @escaping @Sendable (JournalEntry) -> Void,
        report: @escaping @Sendable (ProxyEvent) -> Void,
        begun: @escaping @Sendable (Proxy) -> Void
    ) async throws(CommandFailure) -> (proxy: Proxy, port: UInt16) {
        let journal = JournalHub(observer: record)
        let proxies = ProxyManager(loops: loops, seed: configuration.seed, journal: journal) { report($1) }
        let proxy: Proxy
        switch await proxies.beginSupervised(configuration, begun: begun) {
        case .success(let begun): proxy = begun
        case .failure(let error): throw .failed(error.description)
        }
        let handler = ControlHandler(
            requestGuard: RequestGuard(token: token),
            toxiproxy: ToxiproxyAPI(proxies: proxies, isStrict: false),
            v1: V1API(
                proxies: proxies,
                profiles: ServedProfiles.store(folder: nil) { journal.notices.noteChange() }
            )
        )
        let (outcomes, outcome) = AsyncStream.makeStream(of: Result<Int, CommandFailure>.self)
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        let (server, port) = (server, port)
        let task = Task {
            do throws(ControlServerFailure) {
                try await server.run(
                    handler,
                    host: CommandPage.host,
                    port: port,
                    connectionLimit: controlConnectionLimit
                ) { _ in
                    // A page that can't be loaded says so itself.
                } ready: { port in
                    outcome.yield(.success(port))
                } until: {
                    for await _ in ends {}
                    journal.notices.stop()
                }
            } catch {
                outcome.yield(.failure(error.commandFailure(CommandPage.host, port)))
            }
            outcome.finish()
        }
        running.withLock { $0 = Running(proxies: proxies, server: task, end: end) }
        do throws(CommandFailure) {
            let first = await outcomes.first { _ in true } ?? .failure(.failed("the page's server has ended"))
            let port = try first.get()
            Console.warn(lines: "page: http://\(CommandPage.host):\(port)/ shows the command's network, and changes it")
            return (proxy, UInt16(port))
        } catch {
            await stop()
            throw error
        }
    }

    func stop() async {
        guard let running = running.withLock({ $0.take() }) else { return }
        running.end.finish()
        await running.server.value
        await running.proxies.stop()
    }
}
