import EventLoop
import FaultProfile

/// One side of a TLS connection without I/O: bytes of records in, content out, and the reverse. Belongs to one loop.
///
/// Records are passed to the `output` of the call that makes them, in the order of sending.
public protocol TLSSession: AnyObject {
    /// How far the session has come.
    var state: TLSSessionState { get }

    /// The bytes of content that have been decrypted and not taken.
    var waitingContent: Int { get }

    /// Begins: a client makes its ClientHello.
    ///
    /// - Parameter output: takes the records for the peer.
    func start(_ output: (RawSpan) -> Void)

    /// Reads whole records of the peer, all of them. A piece of a record is for a session that has failed.
    ///
    /// - Parameters:
    ///   - records: the records.
    ///   - output: takes the records for the peer.
    func receive(_ records: RawSpan, _ output: (RawSpan) -> Void)

    /// Takes decrypted content.
    ///
    /// - Parameters:
    ///   - limit: the most bytes, 1 or more.
    ///   - body: takes the bytes.
    /// - Returns: their number; 0 if none waits.
    func takeContent(_ limit: Int, _ body: (RawSpan) -> Void) -> Int

    /// Encrypts content of an `open` session.
    ///
    /// - Parameters:
    ///   - content: the bytes.
    ///   - output: takes the records for the peer.
    func send(_ content: RawSpan, _ output: (RawSpan) -> Void)

    /// Ends this side's content by an alert that the library doesn't send by itself (RFC 8446, section 6). Nothing is sent
    /// afterwards. Only for a session whose terms have `alerts`.
    ///
    /// - Parameters:
    ///   - alert: its number.
    ///   - output: takes the record for the peer.
    func send(alert: UInt8, _ output: (RawSpan) -> Void)

    /// Ends this side's content by close_notify (RFC 8446, section 6.1).
    ///
    /// - Parameter output: takes the record for the peer.
    func endContent(_ output: (RawSpan) -> Void)

    /// Frees the session. The last call.
    func cancel()
}

/// How far a session has come.
public enum TLSSessionState: Hashable, Sendable {
    /// The handshake isn't complete.
    case handshaking
    /// Content passes, by the protocol that ALPN has chosen, if any (RFC 7301).
    case open(protocol: String?)
    /// The peer has ended its content by close_notify; this side may still send.
    case ended(protocol: String?)
    /// The session is over.
    case failed(TLSSessionFailure)
}

/// Why a session is over.
public struct TLSSessionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the alert that the peer has sent: "unknown_ca" (RFC 8446, section 6); `nil` if this side has ended it.
    public let alert: String?
    /// A clause that says what is wrong.
    public let description: String

    /// Makes a failure of its parts.
    public init(alert: String?, description: String) {
        (self.alert, self.description) = (alert, description)
    }
}

/// What a client says in its ClientHello.
public struct TLSGreeting: Hashable, Sendable {
    /// The name of the server; `nil` without one (RFC 6066, section 3).
    public var name: String?
    /// The protocols that ALPN offers, in order; none without it.
    public var protocols: [String]

    /// Makes a greeting of its parts.
    public init(name: String? = nil, protocols: [String] = []) {
        (self.name, self.protocols) = (name, protocols)
    }
}

/// Makes the sessions of clients of a proxy that listens with TLS.
public protocol TLSAcceptor: Sendable {
    /// A session for a client.
    ///
    /// - Parameters:
    ///   - greeting: the ClientHello, which the session is still to receive.
    ///   - terms: what the proxy agrees to.
    ///   - loop: the loop that it belongs to, on which this is called.
    /// - Throws: `TLSSessionFailure` if no certificate can be made.
    func accept(
        _ greeting: TLSGreeting,
        on terms: TLSTerms,
        of loop: EventLoop
    ) throws(TLSSessionFailure) -> any TLSSession

    /// Checks that clients can be shown the certificate of a file.
    ///
    /// - Throws: `TLSSessionFailure` if it can't be parsed, or if the key is another one's.
    func check(_ file: CertificateFile) throws(TLSSessionFailure)
}

/// What the proxy agrees to in the handshake with a client.
public struct TLSTerms: Hashable, Sendable {
    /// The protocol for ALPN to choose; `nil` for none.
    public var choice: String?
    /// What is wrong with the certificate; `nil` for a good one.
    public var flaw: CertificateFlaw?
    /// The certificate in place of the acceptor's own; `nil` for that.
    public var identity: CertificateFile?
    /// The only version; `nil` for any.
    public var version: TLSVersion?
    /// Whether an alert of the proxy's own may follow; the version is 1.3 then.
    public var alerts = false

    /// Makes terms of their parts.
    public init(choice: String? = nil, flaw: CertificateFlaw? = nil, version: TLSVersion? = nil) {
        (self.choice, self.flaw, self.version) = (choice, flaw, version)
    }
}

/// Makes the sessions with an upstream, whose certificate is always verified.
public protocol TLSConnector: Sendable {
    /// A session with the upstream.
    ///
    /// - Parameters:
    ///   - host: the name or address, without brackets, that the certificate must be for.
    ///   - protocols: what ALPN offers, in order; none leaves it out.
    ///   - loop: the loop that it belongs to, on which this is called.
    /// - Throws: `TLSSessionFailure` if the settings can't be used.
    func connect(
        to host: String,
        offering protocols: [String],
        on loop: EventLoop
    ) throws(TLSSessionFailure) -> any TLSSession
}

/// The TLS of a proxy. Both sides are by themselves.
public struct ProxyTLS: Sendable {
    /// For a proxy whose `listen` has TLS.
    public var acceptor: (any TLSAcceptor)?
    /// For a proxy whose upstream has TLS.
    public var connector: (any TLSConnector)?
    /// The name that the upstream's certificate must be for, and that is sent to it; `nil` for the host of its address.
    public var upstreamName: String?
    /// The hosts, of those that clients of a forward proxy name, with which both sides speak TLS. All others pass untouched.
    public var intercepted: [HostPattern]
    /// The certificate of the authority that clients have to trust, in PEM format; a forward proxy serves it.
    public var authority: String?

    /// Makes settings of their parts.
    public init(
        acceptor: (any TLSAcceptor)? = nil,
        connector: (any TLSConnector)? = nil,
        upstreamName: String? = nil,
        intercepted: [HostPattern] = []
    ) {
        (self.acceptor, self.connector) = (acceptor, connector)
        (self.upstreamName, self.intercepted) = (upstreamName, intercepted)
    }
}
