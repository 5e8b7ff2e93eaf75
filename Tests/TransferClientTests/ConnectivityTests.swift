import Synchronization
import Testing
import TransferProtocol

@testable import TransferClient

/// Waiting for the network: the routes of a machine, and a transfer while there are none.
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

    @Test func `the routes of this machine can be read`() {
        // Whether there is a network or not, the question has an answer, and a wait has an end.
        _ = RouteMonitor().isConnected(to: "192.0.2.1")
    }

    /// A network that comes back when it has been waited for so often.
    private final class Network: ConnectivityMonitor {
        private let state: Mutex<(waits: Int, needed: Int)>
        init(backAfter waits: Int) { state = Mutex((0, waits)) }
        var waits: Int { state.withLock { $0.waits } }
        func isConnected(to host: String) -> Bool { state.withLock { $0.waits >= $0.needed } }
        func waitUntilConnected(to host: String, within limit: Duration) async { state.withLock { $0.waits += 1 } }
    }

    @Test func `a network that is away is waited for, and costs no attempts`() async throws {
        let folder = try TemporaryFolder()
        let port = try DeafPort()
        let network = Network(backAfter: 50)
        let done = await attempt(
            DownloadRequest(url: "http://127.0.0.1:\(port.number)/file.bin"),
            to: folder.destination
        ) {
            $0.connectivity = network
            $0.retry.maximumAttempts = 3
        }
        guard case .gaveUp(.attempts(3), .connectFailed) = done.error else {
            Issue.record("\(done.result)")
            return
        }
        #expect(network.waits == 50)
        #expect(done.events.filter { $0 == .waitingForNetwork }.count == 50)
        #expect(done.waits.count == 2)
    }

    @Test func `the deadline ends a wait for the network`() async throws {
        let folder = try TemporaryFolder()
        let port = try DeafPort()
        let done = await attempt(
            DownloadRequest(url: "http://127.0.0.1:\(port.number)/file.bin"),
            to: folder.destination
        ) {
            $0.connectivity = Network(backAfter: .max)
            $0.retry.deadline = .milliseconds(300)
        }
        guard case .gaveUp(.deadline, _) = done.error else {
            Issue.record("\(done.result)")
            return
        }
    }
}
