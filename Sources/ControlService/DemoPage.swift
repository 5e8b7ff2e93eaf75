import ControlAPI
import Demonstration
import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import ProxyRuntime
import Synchronization
import TerminalDisplay
import Units

/// The network of a demo with the control server's page, on which the proxy can be changed while the file is on its way.
package final class DemoPage: DemoPageNetwork {
    private static let name = "demo"

    package let repeats = true
    private let profile: Profile
    private let seed: UInt64
    private let server: @Sendable () throws(CommandFailure) -> any ControlServing
    private let journal: JournalHub
    private let proxies: ProxyManager
    private let story = Story()
    private let listener: Listener

    /// Hands the events of the journal to the story of the present transfer.
    private final class Listener: Sendable {
        let story = Mutex<DemoStory?>(nil)
    }

    /// A network on `loops`, whose page `server` serves.
    package init(
        profile: Profile,
        seed: UInt64,
        loops: EventLoopGroup,
        server: @escaping @Sendable () throws(CommandFailure) -> any ControlServing
    ) {
        self.server = server
        let listener = Listener()
        self.listener = listener
        self.profile = profile
        self.seed = seed
        journal = JournalHub { entry in listener.story.withLock { $0 }?.record(entry) }
        proxies = ProxyManager(loops: loops, seed: seed, journal: journal) { _, _ in }
    }

    package func serve(
        port: Int,
        until interrupt: Interrupt,
        ready: @escaping @Sendable (String) -> Void,
        _ body: @escaping @Sendable () async throws(CommandFailure) -> Void
    ) async throws(CommandFailure) {
        let server = try server()
        let story = story
        let page = PageServer(server, proxies, journal, story: story)
        let outcome = Mutex<Result<Void, CommandFailure>>(.success(()))
        do throws(CommandFailure) {
            try await page.run(port: port) { url, _ in
                ready(url)
            } until: {
                let watch = Task {
                    await interrupt.wait()
                    story.endWait()
                }
                await story.waitForReader()
                if !interrupt.hasCome {
                    do throws(CommandFailure) {
                        try await body()
                    } catch {
                        outcome.withLock { $0 = .failure(error) }
                    }
                }
                watch.cancel()
            }
        } catch {
            await proxies.stop()
            throw error
        }
        await proxies.stop()
        try outcome.withLock { $0 }.get()
    }

    package func begin(to upstream: Endpoint, _ story: DemoStory) async throws(CommandFailure) -> String {
        listener.story.withLock { $0 = story }
        let begun = await proxies.begin(DemoPage.name, upstream: "\(upstream)", profile: profile, seed: seed)
        switch begun {
        case .success(let address): return address
        case .failure(let error): throw .failed(error.description)
        }
    }

    package func followPhases(until moment: Moment, _ story: DemoStory) {
        story.enter(proxies.phase(of: DemoPage.name), at: moment)
    }

    package func passed(_ transfer: DemoTransfer) async -> Int64? { nil }

    package func show(_ progress: ProgressSnapshot, of transfer: DemoTransfer, _ state: DemoTransfer.State) {
        let state: Story.Transfer.State =
            switch state {
            case .running: .running
            case .done: .done
            case .failed: .failed
            }
        story.show(
            Story.Transfer(
                name: transfer.rawValue,
                bytes: progress.bytes,
                total: progress.total,
                resumptions: progress.resumptions,
                state: state
            )
        )
    }

    package func tell(_ caption: String) { story.tell(caption) }

    /// The proxy goes on, for whoever changes it on the page between two transfers.
    package func end() async -> Statistics {
        listener.story.withLock { $0 = nil }
        return Statistics()
    }
}
