import CNetlink
import FoundationEssentials
import NIOCore
import NIOPosix
import TransferProtocol

/// Tells by the routes of the machine whether the network is there, and waits for changes of them by rtnetlink(7).
///
/// A name counts as reachable while there is a default route, an address while there is a route to it. This machine itself is
/// always reachable.
public struct RouteMonitor: ConnectivityMonitor {
    private let group: any EventLoopGroup
    private let readFile: @Sendable (String) -> String?

    /// Makes a monitor. The descriptor of a wait lives on `group`.
    public init(group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup) {
        self.init(group: group, readFile: Self.contents)
    }

    init(group: any EventLoopGroup, readFile: @escaping @Sendable (String) -> String?) {
        self.group = group
        self.readFile = readFile
    }

    /// Whether there is a way to `host`. Where the routes can't be read, there is.
    public func isConnected(to host: String) -> Bool {
        if let url = try? DownloadURL("http://\(host.contains(":") ? "[\(host)]" : host)"), url.isOfLoopback {
            return true
        }
        guard let ipv4 = readFile("/proc/net/route") else { return true }
        let table = RouteTable(ipv4: ipv4, ipv6: readFile("/proc/net/ipv6_route") ?? "")
        return table.reaches(Self.bytes(of: host))
    }

    /// Returns when there is a way to `host`, after `limit`, or when the task is cancelled. Where the system tells no changes, it
    /// looks once a second.
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
        // What changed before the socket was there is seen here.
        guard !isConnected(to: host) else {
            channel.channel.close(promise: nil)
            return
        }
        try? await channel.executeThenClose { changes, _ in
            for try await _ in changes where isConnected(to: host) { return }
        }
    }

    /// A channel that reads whenever something has changed. What the kernel says of it isn't looked at.
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

    /// The bytes of a word in the order in which they lie in memory.
    private static func bytes(of word: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: word.littleEndian >> ($0 * 8)) }
    }

    private static func contents(of path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
