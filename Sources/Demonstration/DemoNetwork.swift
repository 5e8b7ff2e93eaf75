import EventLoop
import FaultProfile
import ProxyEngine
import ProxyRuntime
import Synchronization
import TerminalDisplay
import Units

/// The network of a demo, which starts anew for each transfer, and whoever else watches.
package protocol DemoNetwork: Sendable {
    /// Whether the transfers go on, one after the other, until Ctrl-C.
    var repeats: Bool { get }

    /// Starts from the beginning of the profile in front of `upstream`, and tells `story`; returns the address of the proxy.
    func begin(to upstream: Endpoint, _ story: DemoStory) async throws(CommandFailure) -> String

    /// Has `story` report the phases that began until `moment`.
    func followPhases(until moment: Moment, _ story: DemoStory)

    /// The bytes that have passed in the direction of a transfer; `nil` if only the client counts them.
    func passed(_ transfer: DemoTransfer) async -> Int64?

    /// Shows the progress of a transfer.
    func show(_ progress: ProgressSnapshot, of transfer: DemoTransfer, _ state: DemoTransfer.State)

    /// Shows a caption.
    func tell(_ caption: String)

    /// Ends the network of a transfer; returns its counters.
    func end() async -> Statistics
}

/// The network of a demo with a page, on which it can be changed.
package protocol DemoPageNetwork: DemoNetwork {
    /// Serves the page on `port` while `body` runs, which begins once somebody has opened it.
    ///
    /// - Parameter ready: called once with the URL.
    func serve(
        port: Int,
        until interrupt: Interrupt,
        ready: @escaping @Sendable (String) -> Void,
        _ body: @escaping @Sendable () async throws(CommandFailure) -> Void
    ) async throws(CommandFailure)
}

/// The network without a page: a new proxy for each transfer, whose connections count from 1.
final class DemoProxy: DemoNetwork {
    let repeats = false
    private let profile: Profile
    private let seed: UInt64
    private let loops: EventLoopGroup
    private let running = Mutex<Proxy?>(nil)

    init(profile: Profile, seed: UInt64, loops: EventLoopGroup) {
        self.profile = profile
        self.seed = seed
        self.loops = loops
    }

    func begin(to upstream: Endpoint, _ story: DemoStory) async throws(CommandFailure) -> String {
        let configuration = ProxyConfiguration(
            name: "demo",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: upstream,
            profile: profile,
            seed: seed
        )
        do throws(ProxyError) {
            let proxy = try await Proxy.start(configuration, on: loops, journal: { story.record($0) })
            story.follow(proxy.schedule, of: profile)
            running.withLock { $0 = proxy }
            return "\(proxy.address)"
        } catch {
            throw .failed(error.description)
        }
    }

    func followPhases(until moment: Moment, _ story: DemoStory) { story.followPhases(until: moment) }

    func passed(_ transfer: DemoTransfer) async -> Int64? {
        guard let proxy = running.withLock({ $0 }) else { return nil }
        let statistics = await proxy.statistics()
        return transfer == .download ? statistics.downstreamBytes : statistics.upstreamBytes
    }

    func show(_ progress: ProgressSnapshot, of transfer: DemoTransfer, _ state: DemoTransfer.State) {}

    func tell(_ caption: String) {}

    func end() async -> Statistics {
        guard let proxy = running.withLock({ $0.take() }) else { return Statistics() }
        let statistics = await proxy.statistics()
        await proxy.stop()
        return statistics
    }
}
