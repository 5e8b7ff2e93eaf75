import EventLoop
import OperatingSystem

/// The server's side of a proxy whose upstream has TLS. It is connected once the handshake is complete.
final class DialingSocket: SecureSocket {
    /// Whether the connection is made, and TLS has begun.
    private(set) var isConnected = false
    /// Whether the handshake was complete.
    private var wasOpen = false
    private unowned let connection: Connection
    /// Whether the server is offered another list of protocols than the client's, because faults read messages.
    private let isNarrowed: Bool
    /// Why the handshake has failed; `nil` where the connection has, or its time is over.
    private(set) var handshakeFailure: TLSSessionFailure?

    /// Connects a session over a socket that is connecting, for a connection, which lives longer.
    init(over below: StreamSocket, session: any TLSSession, isNarrowed: Bool, for connection: Connection) {
        (self.connection, self.isNarrowed) = (connection, isNarrowed)
        super.init(over: below)
        self.session = session
    }

    override func advance() {
        if !isConnected {
            guard below.isReadable || below.isWritable else { return }
            if let error = below.connectionError() {
                fail(error)
                return tell()
            }
            isConnected = true
            session?.start { transmit($0) }
        }
        super.advance()
    }

    override func tell() {
        // Until then it is connecting.
        if isEstablished || error != nil { super.tell() }
    }

    override func opened() { wasOpen = true }

    override func described(_ failure: TLSSessionFailure) -> TLSSessionFailure {
        guard isNarrowed, failure.alert == TLSAlert.name(TLSAlert.noApplicationProtocol) else { return failure }
        return TLSSessionFailure(
            alert: failure.alert,
            description: "the server refuses http/1.1, and is offered nothing else, because a fault acts on HTTP "
                + "messages; narrow such faults to other hosts by “when”, or remove them"
        )
    }

    override func failed(_ failure: TLSSessionFailure) {
        if wasOpen { return connection.tell(.serverFailed(failure)) }
        handshakeFailure = handshakeFailure ?? failure
    }

    override func connectionError() -> SystemError? { error }
}
