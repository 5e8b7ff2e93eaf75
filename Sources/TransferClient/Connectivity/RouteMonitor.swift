import CNetlink
import FoundationEssentials
import NIOCore
import NIOPosix
import TransferProtocol

/// Checks the machine's routes, and waits for changes through rtnetlink(7).
///
/// A name is reachable if there is a default route, an address if there is a route to it. Loopback is always reachable.
public struct RouteMonitor: ConnectivityMonitor {
    private let group: any EventLoopGroup
    private let readFile: @Sendable (String) -> String?

    /// Makes a monitor. `group` runs the netlink socket of a wait.
    public init(group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup) {
        self.init(group: group, readFile: Self.contents)
    }

    init(group: any EventLoopGroup, readFile: @escaping @Sendable (String) -> String?) {
        self.group = group
        self.readFile = readFile
    }

    /// Whether there is a route to `host`. True if the routes can't be read.
    public func isConnected(to host: String) -> Bool {
        if let url = try? DownloadURL("http://\(host.contains(":") ? "[\(host)]" : host)"), url.isOfLoopback {
            return true
        }
        guard let ipv4 = readFile("/proc/net/route") else { return true }
        let table = RouteTable(ipv4: ipv4, ipv6: readFile("/proc/net/ipv6_route") ?? "")
        return table.reaches(Self.bytes(of: host))
    }

    /// Returns when there is a route to `host`, after `limit`, or when the task is cancelled. Without netlink it polls
    /// once a second.
    public func waitUntilConnected(to host: String, within limit: Duration) async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await Task.sleep(for: limit) }
            tasks.addTask { await waitForRoute(to: host) }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    private func waitForRoute(to host: String) async {
        let descriptor = squall_open_network_changes()
        guard descriptor >= 0, let channel = try? await open(descriptor) else {
            while !isConnected(to: host), !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
            return
        }
        // Catches changes from before the socket was open.
        guard !isConnected(to: host) else {
            channel.channel.close(promise: nil)
            return
        }
        try? await channel.executeThenClose { changes, _ in
            for try await _ in changes where isConnected(to: host) { return }
        }
    }

    /// A channel that becomes readable on every change. The messages themselves are ignored.
    private func open(_ descriptor: CInt) async throws -> NIOAsyncChannel<ByteBuffer, Never> {
        try await NIOPipeBootstrap(group: group)
            .takingOwnershipOfDescriptor(input: descriptor) { channel in
                channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel(wrappingChannelSynchronously: channel) }
            }
    }

    /// The bytes of an address, 4 or 16; `nil` for a name.
    private static func bytes(of host: String) -> [UInt8]? {
        switch try? SocketAddress(ipAddress: String(host.prefix { $0 != "%" }), port: 0) {
        case .v4(let address): return bytes(of: address.address.sin_addr.s_addr)
        case .v6(let address):
            return (0..<4).flatMap { bytes(of: squall_ipv6_word(address.address.sin6_addr, CInt($0))) }
        case .unixDomainSocket, nil: return nil
        }
    }

    /// The bytes of a word in memory order.
    private static func bytes(of word: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: word.littleEndian >> ($0 * 8)) }
    }

    private static func contents(of path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
