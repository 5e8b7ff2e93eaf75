internal import EventLoop
internal import FaultPlan
internal import FaultProfile
internal import Journal
internal import ProxyEngine
internal import Synchronization
internal import Units

/// A proxy of this process: it listens, and forwards every connection with the faults of a profile.
///
/// ```swift
/// let proxy = try await FaultProxy.start(.profile("wifi-roam"), to: "127.0.0.1:8080", seed: 7)
/// let body = try await client.get(proxy.url("/file"))
/// let faults = await proxy.faults
/// await proxy.stop()
/// ```
///
/// All proxies of a process share its event loops, a thread for each processor. A proxy also stops when the last reference
/// to it goes away.
public final class FaultProxy: Sendable, CustomStringConvertible {
    /// The most events that are kept: 100,000. Later ones are counted.
    public static let eventLimit = 100_000

    /// The name in the journal, and in the seed of every draw.
    public let name: String
    /// The seed of every draw: the same seed, the same faults at the same bytes.
    public let seed: UInt64
    /// Where it listens: "127.0.0.1:41873", "[::1]:41873", or "unix:/run/app.sock".
    public let address: String
    /// The numeric address where it listens, without brackets; empty for a Unix-domain socket.
    public let host: String
    /// The port where it listens; 0 for a Unix-domain socket.
    public let port: Int
    /// Where it forwards to.
    public let upstream: String

    let proxy: Proxy
    let header: JournalHeader
    let recorder: JournalRecorder
    let noticeList: NoticeList
    let following: Mutex<Following>
    /// One change of the faults after the other.
    let changes = AsyncLock()

    /// What the profiles of a proxy have been.
    struct Following {
        /// The description of the current one.
        var profile: String
        /// The current one.
        var current: Profile
        /// Its number, from 1.
        var generation = 1
        var hasHadFaults: Bool
        var isStopped = false
    }

    private init(
        _ proxy: Proxy,
        _ profile: NetworkProfile,
        _ header: JournalHeader,
        _ recorder: JournalRecorder,
        _ notices: NoticeList
    ) {
        let configuration = proxy.configuration
        (name, seed, upstream) = (configuration.name, configuration.seed, "\(configuration.destination)")
        (address, host, port) = ("\(proxy.address)", proxy.address.host, Int(proxy.address.port))
        (self.proxy, self.header, self.recorder, noticeList) = (proxy, header, recorder, notices)
        let hasFaults = !configuration.profile.allFaults.isEmpty
        following = Mutex(
            Following(profile: profile.description, current: configuration.profile, hasHadFaults: hasFaults)
        )
    }

    deinit {
        let proxy = proxy
        Task { await proxy.stop() }
    }

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - profile: The faults. Addresses in it are ignored; of its proxies the one called `name` counts. A profile whose
    ///     faults are all for proxies of other names is invalid.
    ///   - upstream: The server: `host:port`, `[::1]:port` or `unix:PATH`. It needn't listen yet.
    ///   - listen: Where to listen, likewise; port 0 takes a free one. The default is a free port of 127.0.0.1, which
    ///     other machines can't reach.
    ///   - name: The name, a part of the seed of every draw.
    ///   - seed: The seed of every draw. The default is the profile's seed, or 1.
    /// - Throws: A `FaultProxyError`. Nothing is left behind then.
    public static func start(
        _ profile: NetworkProfile,
        to upstream: String,
        listen: String = "127.0.0.1:0",
        name: String = "network",
        seed: UInt64? = nil
    ) async throws(FaultProxyError) -> FaultProxy {
        let faults = try profile.read(for: name)
        let configuration = ProxyConfiguration(
            name: name,
            listen: try endpoint(listen, "listen"),
            upstream: try endpoint(upstream, "upstream"),
            profile: faults,
            seed: seed ?? faults.seed ?? 1
        )
        let (recorder, notices) = (JournalRecorder(limit: eventLimit), NoticeList())
        let loops = try SharedLoops.group()
        do throws(ProxyError) {
            let proxy = try await Proxy.start(
                configuration,
                on: loops,
                journal: { recorder.record($0) },
                report: { notices.add($0.description) }
            )
            let header = JournalHeader(of: configuration, time: recorder.time(of: proxy.started))
            return FaultProxy(proxy, profile, header, recorder, notices)
        } catch {
            throw FaultProxyError(error)
        }
    }

    /// Reads the address of the argument called `argument`.
    private static func endpoint(_ text: String, _ argument: String) throws(FaultProxyError) -> Endpoint {
        if let refusal = ForeignWords.refusal(ofAddress: text) {
            throw FaultProxyError(.invalidAddress, "\(argument): \(refusal.problem) (\(refusal.remedy))")
        }
        guard let endpoint = Endpoint(text) else {
            let remedy = "write “127.0.0.1:8080”, “[::1]:8080”, “name:8080” or “unix:/run/app.sock”"
            throw FaultProxyError(.invalidAddress, "\(argument): \(text.quoted) is no address (\(remedy))")
        }
        return endpoint
    }

    /// The URL of a path on this proxy; a slash is put before one that has none.
    ///
    /// - Precondition: It listens on TCP: a Unix-domain socket has no URL.
    public func url(_ path: String = "/", scheme: String = "http") -> String {
        precondition(port > 0, "a Unix-domain socket has no URL")
        return "\(scheme)://\(address)\(path.hasPrefix("/") ? "" : "/")\(path)"
    }

    /// Stops listening and resets every connection. The port is free when it returns, the journal stays. Calling it twice
    /// is fine.
    public func stop() async {
        // After the changes that have begun: none fails halfway.
        await changes.withLock {
            following.withLock { $0.isStopped = true }
            await proxy.stop()
        }
    }

    /// The profile, the seed and the number of fault events, on one line.
    public var description: String {
        let (profile, count) = (following.withLock { $0.profile }, recorder.count)
        return "profile “\(profile)”, seed \(seed), \(count) fault event\(count == 1 ? "" : "s")"
    }
}
