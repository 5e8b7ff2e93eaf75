import HTTPTransport
import TransferProtocol
import Units

/// The configuration of a client.
public struct TransferClientConfiguration: Sendable {
    /// The retry policy.
    public var retry = RetryPolicy()
    /// The minimum throughput of a body.
    public var stall = MinimumThroughput()
    /// The time limit for connecting, including name resolution and TLS handshake: 10 s by default.
    public var connectLimit: Duration = .seconds(10)
    /// The time limit for the final response head after connecting: 30 s by default.
    public var firstByteLimit: Duration = .seconds(30)
    /// A checkpoint is due after this many new bytes: 8 MiB by default.
    public var checkpointBytes = ByteCount.mebibytes(8)
    /// A checkpoint is due after this time while bytes arrive: 2 s by default.
    public var checkpointInterval: Duration = .seconds(2)
    /// The minimum interval between `progress` events: 100 ms by default.
    public var progressInterval: Duration = .milliseconds(100)
    /// The maximum number of restarts of one download: 10 by default.
    public var maximumRestarts = 10
    /// A download that took this long without a digest requests one at the end, by HEAD: 10 s by default. The server
    /// may have computed it meanwhile.
    public var lateDigestInterval: Duration = .seconds(10)
    /// The time limit for the next response after an upload's content is sent: 60 s by default.
    public var uploadResponseLimit: Duration = .seconds(60)
    /// How long a creation's content waits for the server to name the upload resource: 500 ms by default.
    public var interimResponseLimit: Duration = .milliseconds(500)
    /// The maximum rate of content of one transfer, over all its connections; `nil`, the default, for no limit. Heads
    /// and TLS overhead don't count.
    public var maximumRate: BitRate?
    /// The proxy settings.
    public var proxies = ProxySettings.none
    /// The maximum size of an uploaded stream, in bytes: 16 GiB by default.
    public var maximumStreamBytes: Int64 = 16 << 30
    /// Whether an unsuccessful download keeps its partial file and journal for the next one.
    public var keepsUnfinished = true
    /// The client side of TLS: trusted authorities and client certificate. `nil`, the default, for none: `https` URLs are
    /// refused.
    public var tls: (any ClientTLS)?
    /// Detects a lost network, so that a transfer waits for it instead of counting attempts; `nil`, the default, for
    /// none.
    public var connectivity: (any ConnectivityMonitor)?
    /// Whether the network to a host, the server or its proxy, must not be used; such a connection fails as one without a
    /// route does. `nil`, the default, for none.
    public var refusesNetwork: (@Sendable (_ host: String) -> Bool)?
    /// The seed for backoff jitter; random by default.
    public var seed = UInt64.random(in: .min ... .max)
    /// The clock.
    public var clock = TransferClock.system

    /// Makes the default configuration.
    public init() {}

    /// The host that a connection for `url` goes to: the server or its proxy.
    func nextHop(to url: TransferURL) -> String { (try? proxies.proxy(for: url))?.host ?? url.host }
}
