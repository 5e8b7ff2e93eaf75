package import HTTPTransport
public import Logging
internal import TLSTransport
internal import TransferClient
internal import TransferProtocol

/// The configuration of a `TransferSession`.
public struct TransferConfiguration: Sendable {
    /// Consecutive attempts without progress before a transfer gives up; at least 1. Defaults to 10.
    public var maximumAttempts = 10
    /// The maximum backoff between two attempts. Backoff starts at 500 ms, doubles, and has full jitter. Defaults to 30
    /// s.
    public var maximumBackoff: Duration = .seconds(30)
    /// The longest accepted `Retry-After` (RFC 9110, section 10.2.3). Defaults to 10 min.
    public var maximumRetryAfter: Duration = .seconds(600)
    /// The time limit of a transfer, including backoff, hashing, the stream of an upload, and callbacks, which are cancelled
    /// 250 ms later at the latest; `nil`, the default, for none. An `observer` isn't cancelled.
    public var deadline: Duration?
    /// The time limit for connecting, including TLS. Defaults to 10 s.
    public var connectTimeout: Duration = .seconds(10)
    /// The time limit for a response head in downloads, `data` and `bytes`. Defaults to 30 s. An upload always waits 60
    /// s after the end of its request or an interim response.
    public var responseTimeout: Duration = .seconds(30)
    /// How long throughput may stay below 1 KiB/s before a connection is dropped. Defaults to 15 s.
    public var stallTimeout: Duration = .seconds(15)
    /// The maximum rate of content in bytes per second, for each transfer over all its connections, and for each
    /// response of `data` and `bytes`; at least 1. `nil`, the default, for no limit.
    public var maximumRate: Int64?
    /// The minimum interval between two statuses that differ only in progress. Defaults to 100 ms.
    public var progressInterval: Duration = .milliseconds(100)
    /// The folder for the state of unfinished uploads, created if missing. `nil`, the default, is `squall-transfer` in
    /// `$XDG_STATE_HOME`, or in `~/.local/state`.
    public var stateFolder: String?
    /// The maximum size of a body in `data`. Defaults to 64 MiB.
    public var maximumDataBytes = 64 << 20
    /// The maximum size of an uploaded stream, which is spooled to disk. Defaults to 16 GiB.
    public var maximumStreamBytes: Int64 = 16 << 30
    /// Whether nothing is kept after a transfer, see `ephemeral`. Defaults to `false`.
    public var isEphemeral = false
    /// Trusted authorities and the client certificate.
    public var tls = TransferTLS()
    /// The proxies. Defaults to none.
    public var proxies = TransferProxies.none
    /// Whether a transfer without a route to the server waits in the phase `waitingForNetwork`, without counting
    /// attempts; it retries every 30 s anyway, until the deadline. Defaults to `false`.
    public var waitsForConnectivity = false
    /// The cost of the network to a host, the server or its proxy, for requests that don't allow every cost. `nil`, the
    /// default, regards mobile broadband interfaces as expensive, and no network as constrained: Linux doesn't know more.
    public var networkCost: (@Sendable (_ host: String) -> NetworkCost)?
    /// Provides credentials for requests without their own `authenticator`. Concurrent refusals in one session result
    /// in one call per origin and realm, whose result they share.
    public var authenticator: (@Sendable (TransferChallenge) async -> TransferCredentials?)?
    /// Called with each status of transfers without their own observer, on the transfer's task, which waits for it.
    public var observer: (@Sendable (TransferStatus) -> Void)?

    /// Decides whether a download or an upload makes another attempt, on the transfer's task: `false` ends it with the code
    /// `.gaveUp`. The limits of this configuration apply as well. `nil`, the default, retries within them.
    public var shouldRetry: (@Sendable (TransferRetry) -> Bool)?
    /// Receives the events of transfers but for progress. `nil`, the default, logs nothing.
    public var logger: Logger?
    /// The seed of the backoff; `nil` for a random one.
    package var seed: UInt64?

    /// Makes the default configuration.
    public init() {}

    /// The default configuration for transfers that keep no state.
    ///
    /// Within a transfer everything resumes as usual. An unsuccessful or paused one has no token. An upload creates no
    /// `stateFolder` and doesn't resume an earlier one; the server keeps its bytes until they expire. A download
    /// removes its partial file and journal, including those of an earlier transfer. A killed process may leave both. A
    /// stream is spooled in `$TMPDIR`, or in `/var/tmp`.
    public static var ephemeral: TransferConfiguration {
        var configuration = TransferConfiguration()
        configuration.isEphemeral = true
        return configuration
    }

    /// The engine's configuration.
    var engine: TransferClientConfiguration {
        var engine = TransferClientConfiguration()
        engine.retry.maximumAttempts = max(1, maximumAttempts)
        engine.retry.maximumDelay = maximumBackoff
        engine.retry.maximumRetryAfter = maximumRetryAfter
        engine.retry.deadline = deadline
        engine.connectLimit = connectTimeout
        engine.firstByteLimit = responseTimeout
        engine.stall.window = stallTimeout
        engine.progressInterval = progressInterval
        engine.maximumStreamBytes = max(0, maximumStreamBytes)
        engine.keepsUnfinished = !isEphemeral
        // Rates above 2⁶⁰ bytes per second aren't representable and don't limit anything.
        engine.maximumRate = maximumRate.map { .bytesPerSecond(min(max(1, $0), 1 << 60 - 1)) }
        engine.tls = TLSClient(tls.settings)
        if let seed { engine.seed = seed }
        engine.proxies = proxies.settings
        if waitsForConnectivity { engine.connectivity = RouteMonitor() }
        return engine
    }
}

/// A failed attempt that is about to be followed by another.
public struct TransferRetry: Hashable, Sendable {
    /// The stable code of the failure, such as `connection-lost` (docs/command.md).
    public var code: String
    /// The failure, as a clause.
    public var reason: String
    /// The status of the response, if that is the failure.
    public var status: Int?
    /// The wait before the next attempt.
    public var delay: Duration

    /// Makes a retry, for tests.
    public init(code: String, reason: String = "", status: Int? = nil, delay: Duration = .zero) {
        (self.code, self.reason, self.status, self.delay) = (code, reason, status, delay)
    }

    init(_ failure: TransientFailure, after delay: Duration) {
        (code, reason, self.delay) = (failure.code, failure.description, delay)
        if case .status(let status) = failure { self.status = status }
    }
}

/// The cost of a network.
public struct NetworkCost: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int
    /// Makes a cost from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Its bytes cost money, as those of mobile broadband may.
    public static let expensive = NetworkCost(rawValue: 1)
    /// Its user wants to transfer little.
    public static let constrained = NetworkCost(rawValue: 2)
}

/// Trusted certificate authorities and the client certificate. Servers are always verified.
public struct TransferTLS: Sendable {
    var settings = TLSClientSettings()

    /// Trusts the system's authorities, without a client certificate.
    public init() {}

    /// Trusts `authorities` instead of the system's.
    ///
    /// - Parameter authorities: Certificates in PEM format (RFC 7468); at most 1 MiB.
    /// - Throws: A `TransferError` with the code `.invalidTLSSettings`.
    public init(authorities: String) throws {
        do throws(TLSSettingsProblem) {
            try self.init(authorities: Array(authorities.utf8))
        } catch {
            throw TransferError(.invalidTLSSettings, "the authorities can't be used: \(error)")
        }
    }

    /// Trusts `authorities`, or the system's without them.
    package init(authorities: [UInt8]?) throws(TLSSettingsProblem) {
        if let authorities { settings = try TLSClientSettings(authorities: authorities) }
    }

    /// Sets the client certificate.
    package mutating func identify(_ identity: PEMIdentity) throws(TLSSettingsProblem) {
        settings.identity = try TLSIdentity(identity)
    }

    /// Sets the client certificate, sent to servers that request one.
    ///
    /// - Parameters:
    ///   - certificates: The certificate and its chain, in PEM format.
    ///   - privateKey: Its key, in PEM format.
    /// - Throws: A `TransferError` with the code `.invalidTLSSettings`.
    public mutating func identify(certificates: String, privateKey: String) throws {
        do throws(TLSSettingsProblem) {
            try identify(PEMIdentity(certificates: Array(certificates.utf8), privateKey: Array(privateKey.utf8)))
        } catch {
            throw TransferError(.invalidTLSSettings, "the certificate can't be used: \(error)")
        }
    }
}
