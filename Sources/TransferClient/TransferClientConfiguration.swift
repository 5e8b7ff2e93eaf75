import HTTPTransport
import TransferProtocol
import Units

/// The limits and habits of a client.
public struct TransferClientConfiguration: Sendable {
    /// How often and how soon a transfer is tried again.
    public var retry = RetryPolicy()
    /// When a body is given up as too slow.
    public var stall = DownloadStallRule()
    /// How long connecting may take, names looked up and the handshake of TLS included: 10 s unless told otherwise.
    public var connectLimit: Duration = .seconds(10)
    /// How long the final head of a response may take once connected: 30 s unless told otherwise.
    public var firstByteLimit: Duration = .seconds(30)
    /// So many new bytes are brought safely to the disk together: 8 MiB unless told otherwise.
    public var checkpointBytes = ByteCount.mebibytes(8)
    /// New bytes are brought safely to the disk after this time at the latest, while bytes come: 2 s unless told
    /// otherwise.
    public var checkpointInterval: Duration = .seconds(2)
    /// The least time between two `progress` events: 100 ms unless told otherwise.
    public var progressInterval: Duration = .milliseconds(100)
    /// How often one download may start over before it fails: 10 unless told otherwise.
    public var maximumRestarts = 10
    /// A download that took this long and was told no digest asks for one at its end, by a HEAD: 10 s unless told otherwise.
    /// A server that computes digests of large files meanwhile may know it by then.
    public var lateDigestInterval: Duration = .seconds(10)
    /// How long an upload waits for the next response once all is sent: 60 s unless told otherwise.
    public var uploadResponseLimit: Duration = .seconds(60)
    /// How long the content of an upload waits at most for the server to name the upload's URL: 500 ms unless told
    /// otherwise.
    public var uploadHoldLimit: Duration = .milliseconds(500)
    /// The most bytes of content a second that one transfer moves, over all of its connections; `nil`, the default, for no
    /// limit. What is sent or received by the way, such as heads and TLS, doesn't count.
    public var maximumRate: BitRate?
    /// The proxies that requests go through.
    public var proxies = ProxySettings.none
    /// The bytes of a stream that are taken for an upload: 16 GiB unless told otherwise.
    public var maximumStreamBytes: Int64 = 16 << 30
    /// Whether a download that ends without success leaves what it has for the next; without that it removes its partial
    /// file and its journal.
    public var keepsUnfinished = true
    /// Whom `https` URLs are trusted to, and what is shown to them.
    public var tls = TLSClientSettings()
    /// Tells when the network is away, which is then waited for, and no attempt is counted meanwhile; `nil`, the default, to try
    /// on and give up.
    public var connectivity: (any ConnectivityMonitor)?
    /// Where the waits between attempts are drawn from; a new one for each configuration unless set.
    public var seed = UInt64.random(in: .min ... .max)
    /// The time to work by.
    public var clock = TransferClock.system

    /// Makes the configuration of the defaults.
    public init() {}

    /// The host that a connection for `url` is made to: the server's, or its proxy's.
    func nextHop(to url: DownloadURL) -> String { proxies.proxy(for: url)?.host ?? url.host }
}
