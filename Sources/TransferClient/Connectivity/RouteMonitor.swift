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
    private let isRefused: (@Sendable (String) -> Bool)?
    private let readFile: @Sendable (String) -> String?

    /// Makes a monitor.
    ///
    /// - Parameters:
    ///   - group: Runs the netlink socket of a wait.
    ///   - isRefused: Whether the route to a host must not be used, as if there were none. By default all may be used.
    public init(
        group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
        refusing isRefused: (@Sendable (_ host: String) -> Bool)? = nil
    ) {
        self.init(group: group, refusing: isRefused, readFile: Self.contents)
    }

    init(
        group: any EventLoopGroup,
        refusing isRefused: (@Sendable (_ host: String) -> Bool)? = nil,
        readFile: @escaping @Sendable (String) -> String?
    ) {
        self.group = group
        self.isRefused = isRefused
        self.readFile = readFile
    }

    /// Whether there is a route to `host`. True if the routes can't be read.
    public func isConnected(to host: String) -> Bool {
        guard isRefused?(host) != true else { return false }
        guard !isLoopback(host), let table else { return true }
        return table.reaches(Self.bytes(of: host))
    }

    /// Whether the route to `host` leads through mobile broadband, as far as the kernel knows: an interface of the type
    /// `wwan`, or one named `ppp…` or `rmnet…`. A tunnel through one isn't known.
    public func usesMobileBroadband(to host: String) -> Bool {
        guard !isLoopback(host), let interface = table?.interface(to: Self.bytes(of: host)) else { return false }
        return ["ppp", "rmnet", "wwan"].contains { interface.hasPrefix($0) }
            || readFile("/sys/class/net/\(interface)/uevent")?.contains("DEVTYPE=wwan\n") == true
    }

    /// The interface of the route to `host`, or of the default route for a name; `nil` without one.
    package func interface(to host: String) -> String? { table?.interface(to: Self.bytes(of: host)) }

    /// Yields whenever a link, an address or a route changes, and once at the beginning; ends without netlink. Changes that
    /// aren't read yet are one.
    package func changes() -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                defer { continuation.finish() }
                let descriptor = squall_open_network_changes()
                guard descriptor >= 0, let channel = try? await open(descriptor) else { return }
                continuation.yield()
                try? await channel.executeThenClose { changes, _ in
                    for try await _ in changes { continuation.yield() }
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private var table: RouteTable? {
        readFile("/proc/net/route").map { RouteTable(ipv4: $0, ipv6: readFile("/proc/net/ipv6_route") ?? "") }
    }

    private func isLoopback(_ host: String) -> Bool {
        (try? TransferURL("http://\(host.contains(":") ? "[\(host)]" : host)"))?.isOfLoopback == true
    }

    /// Returns when there is a route to `host`, after `limit`, or when the task is cancelled. Without netlink, and where
    /// routes may be refused, it polls once a second.
    public func waitUntilConnected(to host: String, within limit: Duration) async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await Pause.sleep(for: limit) }
            tasks.addTask { await waitForRoute(to: host) }
            if isRefused != nil { tasks.addTask { await poll(host) } }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    private func waitForRoute(to host: String) async {
        let descriptor = squall_open_network_changes()
        guard descriptor >= 0, let channel = try? await open(descriptor) else {
            return await poll(host)
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

    private func poll(_ host: String) async {
        while !isConnected(to: host), !Task.isCancelled { try? await Pause.sleep(for: .seconds(1)) }
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
