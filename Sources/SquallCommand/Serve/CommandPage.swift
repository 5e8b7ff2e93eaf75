import ControlAPI
import ControlService
import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import ProxyRunners
import Synchronization
import TerminalDisplay

/// The control server of `squall exec --page`, with the proxy of the command's connections.
final class CommandPage: ExecPage {
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
        begun: @escaping @Sendable (Proxy) -> Void,
        changes: @escaping @Sendable (Profile, _ isEnabled: Bool) -> Void
    ) async throws(CommandFailure) -> (proxy: Proxy, port: UInt16) {
        let journal = JournalHub(observer: record)
        let proxies = ProxyManager(loops: loops, seed: configuration.seed, journal: journal) { report($1) }
        let proxy: Proxy
        switch await proxies.beginSupervised(configuration, begun: begun, changes: changes) {
        case .success(let begun): proxy = begun
        case .failure(let error): throw .failed(error.description)
        }
        let page = PageServer(server, proxies, journal, token: token)
        let (outcomes, outcome) = AsyncStream.makeStream(of: Result<(url: String, port: Int), CommandFailure>.self)
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        let port = port
        let task = Task {
            do throws(CommandFailure) {
                try await page.run(port: port) { url, port in
                    outcome.yield(.success((url, port)))
                } until: {
                    for await _ in ends {}
                }
            } catch {
                outcome.yield(.failure(error))
            }
            outcome.finish()
        }
        running.withLock { $0 = Running(proxies: proxies, server: task, end: end) }
        do throws(CommandFailure) {
            let first = await outcomes.first { _ in true } ?? .failure(.failed("the page's server has ended"))
            let (url, port) = try first.get()
            let seed = configuration.seed
            Console.warn(lines: "page: \(url) shows the command's network, and changes it (seed \(seed))")
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
