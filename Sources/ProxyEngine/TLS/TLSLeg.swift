import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import Units

/// What a connection with TLS has beside others, in memory that only such connections have.
///
/// Where clients speak TLS there are two connections in a row, with a pair of sockets in memory between them: that of the
/// wire has the client's socket and the faults of the network, that of the content has TLS and all other faults, and
/// dials the server.
final class TLSLeg {
    /// The layer whose faults the connection has; `nil` where one has all faults: only the upstream has TLS, or the client's
    /// first bytes are still to tell whether it has.
    var layer: FaultLayer?
    /// The faults of TLS itself.
    fileprivate(set) var faults: HandshakeFaults
    /// The plan of the content, until it is used.
    var contentPlan: ContentPlan?
    /// The client's side.
    var accepting: AcceptingSocket?
    /// The server's side.
    var dialing: DialingSocket?
    /// The host that an intercepted client has named, in its ClientHello or as its target.
    var host: String?
    /// The connection to that host, until TLS begins on it.
    private var connected: StreamSocket?

    init(_ layer: FaultLayer? = nil, _ faults: HandshakeFaults = HandshakeFaults()) {
        (self.layer, self.faults) = (layer, faults)
    }

    /// Goes on in another generation of the plan.
    func apply(_ change: PlanChange) {
        if faults.isEmpty { return }
        faults.apply(change)
        accepting?.faultsChanged(to: faults)
    }

    /// Has TLS begin with a server that is connected, in place of dialing.
    func begin(with server: StreamSocket, named host: String) { (connected, self.host) = (server, host) }

    /// Takes the server that is connected; `nil` without one.
    func takeConnected() -> StreamSocket? { connected.take() }
}

extension Connection {
    /// The layer whose faults it has; `nil` for all.
    var layer: FaultLayer? { tls?.layer }

    private var settings: ProxyTLS { shard.context.configuration.tls }

    /// Begins the connection of the content, to which that of the wire connects.
    ///
    /// - Parameters:
    ///   - connected: the server, if it isn't to be dialed.
    ///   - name: the name of that server.
    func openContent(_ contentPlan: ContentPlan, with connected: StreamSocket? = nil, named name: String = "") {
        let (outer, inner) = MemoryPairEnd.make(on: loop)
        inner.addresses = (client.localAddress, client.peerAddress)
        // A client may send a close_notify when TLS is over.
        outer.dropsAfterClose = true
        if let serverWindow { outer.setReceiveBuffer(Int(serverWindow)) }
        server.open(over: outer)
        server.watch(by: self, tag: Tag.server)
        let client = StreamSocket(closedOn: loop)
        let content = Connection(client, of: local, plan: contentPlan.plan, shard: shard, layer: .content)
        content.host = host
        if let connected { content.tls?.begin(with: connected, named: name) }
        content.forwardingPath = forwardingPath
        content.capture = capture
        forwardingPath = nil
        let accepting = AcceptingSocket(over: StreamSocket(over: inner), for: content)
        content.tls?.accepting = accepting
        client.open(over: accepting)
        shard.add(content)
        if let change = contentPlan.change(to: shard.plan) {
            content.apply(change, after: contentPlan.generation, at: loop.now)
        }
        // The change may have ended it.
        if client.isOpen { accepting.begin() }
    }

    /// The ClientHello is here, perhaps with a name that brings faults.
    func greeted() {
        guard let name = tls?.accepting?.greeting?.name, !hasNamedHost,
            findsFaults(for: name, { $0.take($1, ofGreetingFor: $2) })
        else { return answerGreeting() }
    }

    private func take(_ update: ConnectionUpdate, ofGreetingFor name: HostName) {
        // The client may be gone.
        guard case .accepted = state.phase else { return }
        self.name = name
        tls?.faults.add(update.handshake)
        if !update.isEmpty { apply(update, at: loop.now) }
        answerGreeting()
    }

    /// The server is dialed, unless a fault answers in its place.
    private func answerGreeting() {
        guard let tls, let (entry, bytes) = tls.faults.first(\.answer) else { return start() }
        record(entry.event, nil, loop.now)
        tls.accepting?.transmit(text: bytes)
        abandon(reset: false)
    }

    /// Begins TLS with the server, over a socket that is connected or connecting, which is closed if that fails.
    func secureServer(over below: StreamSocket, named host: String) throws(SystemError) {
        guard let connector = settings.connector else {
            preconditionFailure("a proxy whose upstream has TLS starts with it")
        }
        let session: any TLSSession
        let offered = offeredProtocols
        do throws(TLSSessionFailure) {
            session = try connector.connect(to: settings.upstreamName ?? host, offering: offered, on: loop)
        } catch {
            below.close()
            throw SystemError(call: "TLS", code: 0, reason: error.description)
        }
        let isNarrowed = offered != tls?.accepting?.greeting?.protocols ?? []
        let dialing = DialingSocket(over: below, session: session, isNarrowed: isNarrowed, for: self)
        let leg = tls ?? TLSLeg()
        leg.dialing = dialing
        tls = leg
        server.open(over: dialing)
        dialing.begin()
    }

    /// What ALPN offers to the upstream: what the client does, and if faults read messages, which are those of HTTP/1, that
    /// alone where it is among it.
    private var offeredProtocols: [String] {
        let offered = tls?.accepting?.greeting?.protocols
        guard readsMessages, offered?.contains(Connection.http1) ?? true else { return offered ?? [] }
        return [Connection.http1]
    }

    private static var http1: String { "http/1.1" }

    /// Goes on with the client's handshake, as the server is connected; `false` if that can't be.
    func acceptClient() -> Bool {
        guard let accepting = tls?.accepting, let acceptor = settings.acceptor, var greeting = accepting.greeting
        else { return true }
        greeting.name = greeting.name ?? tls?.host
        let offered = greeting.protocols
        let choice: String?
        if let dialing = tls?.dialing {
            choice = offered.first { $0 == dialing.chosenProtocol }
        } else {
            // A client of gRPC offers h2 alone, and ends TLS without it.
            choice = [Connection.http1, "http/1.0", "h2"].first(where: offered.contains) ?? offered.first
        }
        let terms = terms(choosing: choice)
        do throws(TLSSessionFailure) {
            accepting.accept(try acceptor.accept(greeting, on: terms, of: loop))
            return true
        } catch {
            tell(.clientFailed(.certificate(error)))
            accepting.refuse(TLSAlert.internalError)
            abandon(reset: false)
            return false
        }
    }

    /// The terms of the client's session: `choice`, if no fault changes it.
    private func terms(choosing choice: String?) -> TLSTerms {
        var terms = TLSTerms(choice: choice)
        guard let faults = tls?.faults, !faults.isEmpty else { return terms }
        func take<Value>(_ pick: (TLSFault) -> Value?) -> Value? {
            guard let (entry, value) = faults.first(pick) else { return nil }
            record(entry.event, nil, loop.now)
            return value
        }
        terms.flaw = take { if case .certificate(let flaw) = $0 { flaw } else { nil } }
        terms.identity = take { if case .identity(let file) = $0 { file } else { nil } }
        if let name = take({ if case .alpn(let name) = $0 { .some(name) } else { nil } }) { terms.choice = name }
        terms.alerts = faults.first { if case .alert(_, _?) = $0 { true } else { nil } } != nil
        terms.version = take { if case .version(let version) = $0 { version } else { nil } }
        if let size = take({ if case .record(let size) = $0 { Int(size.bytes) } else { nil } }) {
            tls?.accepting?.pieceLimit = size
        }
        return terms
    }

    /// Tells a client whose server has failed in the handshake; `false` if there is nobody to tell.
    func refuseClient() -> Bool {
        guard let dialing = tls?.dialing, dialing.isConnected, let accepting = tls?.accepting, accepting.isWaiting
        else { return false }
        // It was the client's offer that the server has refused.
        let isOffer = dialing.handshakeFailure?.alert == TLSAlert.name(TLSAlert.noApplicationProtocol)
        accepting.refuse(isOffer ? TLSAlert.noApplicationProtocol : TLSAlert.internalError)
        return true
    }

    /// Has an end of the stream passed on as its source has ended: with close_notify, or without.
    func noteNotice(of direction: Direction) {
        guard let tls else { return }
        switch direction {
        case .upstream: tls.dialing?.endsWithNotice = tls.accepting?.hasEndedWithNotice ?? true
        case .downstream:
            // An answer in the server's place is whole.
            tls.accepting?.endsWithNotice = server.isOpen ? tls.dialing?.hasEndedWithNotice ?? true : true
        }
    }

    /// Has TLS end as a fault wants.
    func noteCut(_ ending: Ending) {
        guard let tls else { return }
        switch ending {
        case .cut(.notify):
            tls.accepting?.endsWithNotice = true
            tls.dialing?.endsWithNotice = true
        case .alert(let alert):
            tls.accepting?.send(alert.number)
        case .finish, .reset, .cut, .answer:
            break
        }
    }

    /// Reports what happens to TLS, beside faults.
    func tell(_ event: TLSEvent) { shard.context.tell(.tls(connection: ordinal, event)) }
}

extension TLSFault {
    /// The bytes in place of a ServerHello.
    fileprivate var answer: [UInt8]? {
        switch self {
        case .alert(let alert, nil): TLSAlert.record(alert.number)
        case .reply(let bytes): bytes
        case .alert, .certificate, .identity, .stall, .alpn, .version, .record: nil
        }
    }
}

/// What happens to TLS, beside faults.
public enum TLSEvent: Hashable, Sendable {
    /// Why a client has no session.
    public enum ClientFailure: Hashable, Sendable {
        /// It sends a request of HTTP without TLS.
        case plainHTTP
        /// What it sends is no ClientHello.
        case noTLS
        /// No certificate can be made for the name that it asks for.
        case certificate(TLSSessionFailure)
        /// The session has ended.
        case session(TLSSessionFailure)
        /// The session has ended behind a fault of TLS.
        case fault(TLSSessionFailure)
    }

    /// The client has no session.
    case clientFailed(ClientFailure)
    /// The session with the server has failed behind its handshake. A server of TLS 1.3 judges the client's certificate there.
    case serverFailed(TLSSessionFailure)

    /// The end with which TLS has failed, as a word of the journal.
    var side: String {
        switch self {
        case .clientFailed: "client"
        case .serverFailed: "server"
        }
    }

    /// What happens, as a word of the journal.
    var what: String {
        switch self {
        case .clientFailed(.session(let failure)), .clientFailed(.fault(let failure)), .serverFailed(let failure):
            failure.alert == nil ? "fails" : "rejects"
        case .clientFailed(.plainHTTP), .clientFailed(.noTLS), .clientFailed(.certificate):
            "fails"
        }
    }

    /// Why it happens: the name of an alert, or a clause.
    var why: String {
        switch self {
        case .clientFailed(.plainHTTP): "HTTP without TLS"
        case .clientFailed(.noTLS): "no ClientHello"
        case .clientFailed(.certificate(let failure)): failure.description
        case .clientFailed(.session(let failure)), .clientFailed(.fault(let failure)), .serverFailed(let failure):
            failure.alert ?? failure.description
        }
    }

    /// A clause for a log, with what to do.
    public var sentence: String {
        switch self {
        case .clientFailed(.plainHTTP):
            "the client speaks HTTP without TLS to a port with it; use https:// in its address"
        case .clientFailed(.noTLS):
            "what the client sends is no ClientHello of TLS of at most 16 KiB; a port without TLS is --listen without “tls:”"
        case .clientFailed(.certificate(let failure)):
            "no certificate for the client: \(failure)"
        case .clientFailed(.fault(let failure)):
            "behind a fault of TLS: "
                + (failure.alert.map { "the client ends it with the alert \($0)" } ?? failure.description)
        case .clientFailed(.session(let failure)):
            switch failure.alert {
            case "unknown_ca":
                "the client rejects the certificate (alert unknown_ca): it doesn't trust Squall's authority; "
                    + TLSEvent.trusting
            case let alert? where ["certificate_unknown", "bad_certificate"].contains(alert):
                "the client rejects the certificate (alert \(alert)): it doesn't trust Squall's authority, or the certificate "
                    + "isn't for the name that it asks for; \(TLSEvent.trusting), or give Squall an --authority for the name, "
                    + "from squall authority create FILE --for NAME"
            case "certificate_expired":
                "the client finds the certificate expired (alert certificate_expired): its clock is wrong, or Squall has run for "
                    + "longer than its authority is valid; start Squall again, with another file if it has --authority"
            case let alert?: "the client ends TLS with the alert \(alert)"
            case nil: "TLS with the client has failed: \(failure)"
            }
        case .serverFailed(let failure):
            switch failure.alert {
            case let alert? where alert.contains("certificate") || alert == "unknown_ca":
                "the server ends TLS with the alert \(alert): it refuses the certificate of --client-cert, or wants one"
            case let alert?: "the server ends TLS with the alert \(alert)"
            case nil: "TLS with the server has failed: \(failure)"
            }
        }
    }

    /// How a client comes to trust the authority.
    private static let trusting =
        "give it the file that the line “trust:” names, in commands of exec and test the variable SSL_CERT_FILE"
}
