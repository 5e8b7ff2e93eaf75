internal import HTTPTransport
internal import TransferClient

/// Settings of a `TransferSession`.
public struct TransferConfiguration: Sendable {
    /// Attempts in a row that bring no new byte before a transfer gives up for now; at least 1. Defaults to 10.
    public var maximumAttempts = 10
    /// The longest wait between two attempts. Waits begin at 500 ms, are random, and double. Defaults to 30 s.
    public var longestWait: Duration = .seconds(30)
    /// The longest `Retry-After` (RFC 9110, section 10.2.3) that is waited for. Defaults to 10 min.
    public var longestRetryAfter: Duration = .seconds(600)
    /// How long a transfer may take, waits included; `nil`, the default, for as long as it needs.
    public var deadline: Duration?
    /// The longest that connecting may take, TLS included. Defaults to 10 s.
    public var connectTimeout: Duration = .seconds(10)
    /// The longest wait for the head of a response, in downloads, `data` and `bytes`. Defaults to 30 s. An upload waits 60 s
    /// after the end of its request or an interim response, whatever this says.
    public var responseTimeout: Duration = .seconds(30)
    /// Time below 1 KiB/s after which a connection is dropped. Defaults to 15 s.
    public var stallTimeout: Duration = .seconds(15)
    /// The most bytes of content a second that each transfer moves, over all of its connections, and that the body of each
    /// response of `data` and `bytes` is received at; `nil`, the default, for no limit; at least 1.
    public var maximumRate: Int64?
    /// The least time between two statuses that differ in progress alone. Defaults to 100 ms.
    public var progressInterval: Duration = .milliseconds(100)
    /// The folder in which unfinished uploads are remembered; it is made if it isn't there. `nil`, the default, is
    /// `squall-transfer` in `$XDG_STATE_HOME`, or in `~/.local/state`.
    public var stateFolder: String?
    /// The most bytes of a body that `data` takes. Defaults to 64 MiB.
    public var maximumDataBytes = 64 << 20
    /// The most bytes of a stream that an upload takes; they need room on the disk. Defaults to 16 GiB.
    public var maximumStreamBytes: Int64 = 16 << 30
    /// Whether nothing is remembered beyond a transfer, see `ephemeral`. Defaults to `false`.
    public var isEphemeral = false
    /// Trusted authorities and the client certificate.
    public var tls = TransferTLS()
    /// The proxies that requests go through. Defaults to none.
    public var proxies = TransferProxies.none
    /// Whether a transfer waits while the machine has no route to the server, in the phase `waitingForNetwork`, and counts no
    /// attempts meanwhile; it is tried all the same each 30 s. It waits as long as the deadline permits. Defaults to
    /// `false`.
    public var waitsForConnectivity = false
    /// Gives credentials for requests that have no `authenticator` of their own. Transfers of one session that are refused together
    /// ask once for each origin and realm, and share the answer.
    public var authenticator: (@Sendable (TransferChallenge) async -> TransferCredentials?)?
    /// Told of every status of every transfer that has no observer of its own; on the transfer's task, which waits for it.
    public var observer: (@Sendable (TransferStatus) -> Void)?

    /// Makes the configuration of the defaults.
    public init() {}

    /// The defaults for transfers of which nothing is remembered.
    ///
    /// Within a transfer everything resumes as usual. One that ends without success, paused ones included, has no token. An
    /// upload makes no `stateFolder`, and doesn't go on with an earlier one; the server keeps what it has until that expires. A
    /// download removes its partial file and its journal, those included that an earlier transfer left to it. A process that
    /// is killed may leave both. A stream is spooled in `$TMPDIR`, or in `/var/tmp`.
    public static var ephemeral: TransferConfiguration {
        var configuration = TransferConfiguration()
        configuration.isEphemeral = true
        return configuration
    }

    /// What the engine takes.
    var engine: TransferClientConfiguration {
        var engine = TransferClientConfiguration()
        engine.retry.maximumAttempts = max(1, maximumAttempts)
        engine.retry.longestDelay = longestWait
        engine.retry.longestRetryAfter = longestRetryAfter
        engine.retry.deadline = deadline
        engine.connectLimit = connectTimeout
        engine.firstByteLimit = responseTimeout
        engine.stall.window = stallTimeout
        engine.progressInterval = progressInterval
        engine.maximumStreamBytes = max(0, maximumStreamBytes)
        engine.keepsUnfinished = !isEphemeral
        // Beyond 2⁶⁰ bytes a second nothing is limited.
        engine.maximumRate = maximumRate.map { .bytesPerSecond(min(max(1, $0), 1 << 60 - 1)) }
        engine.tls = tls.settings
        engine.proxies = proxies.settings
        if waitsForConnectivity { engine.connectivity = RouteMonitor() }
        return engine
    }
}

/// The certificate authorities that a session trusts, and the certificate that it shows. Servers are always checked.
public struct TransferTLS: Sendable {
    var settings = TLSClientSettings()

    /// Trusts the authorities of the system, and shows nothing.
    public init() {}

    /// Trusts `authorities` in place of the system's.
    ///
    /// - Parameter authorities: Certificates in the PEM format (RFC 7468); 1 MiB at most.
    /// - Throws: A `TransferError` with the code `.invalidTLSSettings`.
    public init(authorities: String) throws {
        do throws(TLSSettingsProblem) {
            settings = try TLSClientSettings(authorities: Array(authorities.utf8))
        } catch {
            throw TransferError(.invalidTLSSettings, "the authorities can't be used: \(error)")
        }
    }

    /// Shows a certificate to servers that ask for one.
    ///
    /// - Parameters:
    ///   - certificates: The certificate, and its chain, in the PEM format.
    ///   - privateKey: Its key, in the PEM format.
    /// - Throws: A `TransferError` with the code `.invalidTLSSettings`.
    public mutating func identify(certificates: String, privateKey: String) throws {
        do throws(TLSSettingsProblem) {
            settings.identity = try TLSIdentity(
                certificates: Array(certificates.utf8),
                privateKey: Array(privateKey.utf8)
            )
        } catch {
            throw TransferError(.invalidTLSSettings, "the certificate can't be used: \(error)")
        }
    }
}
