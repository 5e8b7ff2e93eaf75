import Synchronization
import Testing
import TransferProtocol
import Units

@testable import TransferClient

/// Waiting for the network: a machine's routes, and a transfer while there are none.
@Suite(.timeLimit(.minutes(5))) struct ConnectivityTests {
    private static let header =
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    private static let lan = "wlan0\t0001A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0\n"
    private static let gateway = "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
    private static let unreachable = "*\t00000000\t00000000\t0200\t0\t0\t600\t00000000\t0\t0\t0\n"
    private static let ipv6Default =
        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
        + "fe800000000000000000000000000001 00000400 00000001 00000000 00000003   wlan0\n"
    private static let ipv6Rejecting =
        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
        + "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"

    private func monitor(_ ipv4: String?, _ ipv6: String? = nil) -> RouteMonitor {
        RouteMonitor(group: .singletonMultiThreadedEventLoopGroup) { path in
            path.hasSuffix("ipv6_route") ? ipv6 : ipv4
        }
    }

    @Test func `a name needs a default route`() {
        #expect(!monitor(Self.header).isConnected(to: "example.com"))
        #expect(!monitor(Self.header + Self.lan).isConnected(to: "example.com"))
        #expect(!monitor(Self.header + Self.unreachable).isConnected(to: "example.com"))
        #expect(monitor(Self.header + Self.lan + Self.gateway).isConnected(to: "example.com"))
        #expect(monitor(Self.header, Self.ipv6Default).isConnected(to: "example.com"))
        #expect(!monitor(Self.header, Self.ipv6Rejecting).isConnected(to: "example.com"))
    }

    @Test func `an address needs a route to it`() {
        let routes = monitor(Self.header + Self.lan)
        #expect(routes.isConnected(to: "192.168.1.7"))
        #expect(!routes.isConnected(to: "192.168.2.7"))
        #expect(!routes.isConnected(to: "2001:db8::1"))
        let link = "fe800000000000000000000000000000 40 " + String(repeating: "0", count: 32) + " 00 "
        let local = monitor(Self.header, link + String(repeating: "0", count: 32) + " 100 1 0 00000001 wlan0\n")
        #expect(local.isConnected(to: "fe80::1"))
        #expect(!local.isConnected(to: "2001:db8::1"))
    }

    @Test func `this machine is always there, and so is everything where the routes can't be read`() {
        for host in ["127.0.0.1", "localhost", "::1"] { #expect(monitor(Self.header).isConnected(to: host)) }
        #expect(monitor(nil).isConnected(to: "example.com"))
        for damage in ["", "x", "wlan0 zz", Self.header + "wlan0\t1\n", "\u{0}"] {
            #expect(!monitor(damage, damage).isConnected(to: "example.com"))
        }
    }

    private static let modem = "wwan0\t00000000\t0101A8C0\t0003\t0\t0\t700\t00000000\t0\t0\t0\n"

    @Test func `mobile broadband is the interface of the best route`() {
        func uses(_ routes: String, to host: String = "example.com", _ device: String = "") -> Bool {
            RouteMonitor(group: .singletonMultiThreadedEventLoopGroup) { path in
                path == "/proc/net/route" ? Self.header + routes : path.hasSuffix("uevent") ? device : nil
            }.usesMobileBroadband(to: host)
        }
        #expect(uses(Self.modem))
        #expect(!uses(Self.modem + Self.gateway))
        #expect(!uses(Self.gateway + Self.modem))
        #expect(!uses(Self.modem + Self.lan, to: "192.168.1.7"))
        #expect(uses(Self.modem + Self.lan, to: "192.168.2.7"))
        #expect(uses(Self.gateway, "INTERFACE=wlan0\nDEVTYPE=wwan\n"))
        #expect(!uses(Self.gateway, "DEVTYPE=wlan\nINTERFACE=wlan0\n"))
        #expect(!uses(Self.modem, to: "127.0.0.1") && !uses(""))
    }

    @Test func `a network that must not be used isn't connected`() {
        let monitor = RouteMonitor(
            group: .singletonMultiThreadedEventLoopGroup,
            refusing: { $0 == "far.example" },
            readFile: { $0 == "/proc/net/route" ? Self.header + Self.gateway : nil }
        )
        #expect(!monitor.isConnected(to: "far.example"))
        #expect(monitor.isConnected(to: "near.example"))
    }

    @Test func `the routes of this machine can be read`() {
        // Must return with and without a network.
        _ = RouteMonitor().isConnected(to: "192.0.2.1")
    }

    /// A network that comes back after a number of waits.
    private final class Network: ConnectivityMonitor {
        private let state: Mutex<(waits: Int, needed: Int, events: Int)>
        /// Time passes only while a transfer waits.
        private let time = Mutex(Moment.zero)
        init(backAfter waits: Int) { state = Mutex((0, waits, 0)) }
        var now: Moment { time.withLock { $0 } }
        func pass(_ delay: Duration) { time.withLock { $0 = $0 + delay } }
        /// How often a transfer said that it waits.
        var events: Int { state.withLock { $0.events } }
        func note(_ event: TransferEvent) { if event == .waitingForNetwork { state.withLock { $0.events += 1 } } }
        var waits: Int { state.withLock { $0.waits } }
        func isConnected(to host: String) -> Bool { state.withLock { $0.waits >= $0.needed } }
        func waitUntilConnected(to host: String, within limit: Duration) async {
            state.withLock { $0.waits += 1 }
            pass(limit)
        }
    }

    /// A transfer with scripted attempts that is complete after the last one.
    private final class Scripted: AttemptedTransfer {
        private var outcomes: [AttemptOutcome]
        private(set) var waits = 0
        let committed: Int64 = 0
        let startsOver = false
        let host = "files.example"
        private static let summary = TransferSummary(
            bytes: 0,
            sha256: [],
            details: .upload(UploadDetails(proof: .complete))
        )

        init(_ transientFailures: [TransientFailure], retryAfter: Duration? = nil) {
            outcomes = transientFailures.map { .retryable($0, retryAfter: retryAfter) }
        }

        func nextStep() async throws(TransferError) -> AttemptStep<Int> {
            outcomes.isEmpty ? .finished(Self.summary) : .attempt(0)
        }

        func attempt(_ request: Int) async -> AttemptOutcome {
            outcomes.removeFirst()
        }

        func willWait(_ delay: Duration, after: TransientFailure, by rule: RetryRule)
            async throws(TransferError)
        {
            waits += 1
        }

        func use(_ credentials: RequestCredentials) {}
        func use(_ url: TransferURL) {}
    }

    private func loop(_ network: Network, deadline: Duration? = nil) -> AttemptLoop {
        var configuration = TransferClientConfiguration()
        configuration.connectivity = network
        configuration.retry.maximumAttempts = 3
        configuration.retry.deadline = deadline
        configuration.clock.now = { network.now }
        configuration.clock.sleep = { network.pass($0) }
        return AttemptLoop(configuration, TransferCallbacks(), seed: 1, startedAt: .zero) { network.note($0) }
    }

    @Test(arguments: [TransientFailure.unreachable("no route"), .connectTimedOut])
    func `a network that is away is waited for, and costs no attempts`(cause: TransientFailure) async throws {
        let network = Network(backAfter: 50)
        let transfer = Scripted(Array(repeating: cause, count: 52))
        _ = try await loop(network).run(transfer)
        #expect(network.waits == 50)
        #expect(network.events == 50)
        #expect(transfer.waits == 2)
    }

    @Test(arguments: [
        TransientFailure.connectFailed("refused"), .connectionLost("reset"), .status(503), .firstByteTimedOut,
    ])
    func `what no network is the reason of counts`(cause: TransientFailure) async {
        let network = Network(backAfter: .max)
        let transfer = Scripted(Array(repeating: cause, count: 10))
        await #expect(throws: TransferError.gaveUp(.attempts(3), cause)) {
            _ = try await loop(network).run(transfer)
        }
        #expect(network.events == 0)
    }

    @Test func `the deadline ends a wait for the network`() async {
        let network = Network(backAfter: .max)
        let transfer = Scripted(Array(repeating: .unreachable("no route"), count: 1_000_000))
        let deadline = Duration.seconds(3_605)
        await #expect(throws: TransferError.gaveUp(.deadline(deadline), .unreachable("no route"))) {
            _ = try await loop(network, deadline: deadline).run(transfer)
        }
        #expect(network.events == 121)
        #expect(network.now == Moment(nanoseconds: 3_605_000_000_000))
    }

    @Test func `a Retry-After is waited for to the second`() async throws {
        let network = Network(backAfter: 0)
        let transfer = Scripted([.status(503), .status(503)], retryAfter: .seconds(300))
        _ = try await loop(network).run(transfer)
        #expect(network.now == .zero + .seconds(600))
    }

    @Test func `with a proxy it is the proxy that has to be reached`() async throws {
        let proxy = try ProxySettings.Proxy("http://proxy.example:3128")
        var configuration = TransferClientConfiguration()
        let url = try TransferURL("http://files.example/")
        #expect(configuration.nextHop(to: url) == "files.example")
        configuration.proxies = ProxySettings(http: proxy)
        #expect(configuration.nextHop(to: url) == "proxy.example")
    }
}
