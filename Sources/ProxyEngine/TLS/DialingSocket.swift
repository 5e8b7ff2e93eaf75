import EventLoop
import OperatingSystem

/// The server's side of a proxy whose upstream has TLS. It is connected once the handshake is complete.
final class DialingSocket: SecureSocket {
    private var isConnected = false
    /// Why the handshake has failed; `nil` where the connection itself has.
    private(set) var handshakeFailure: TLSSessionFailure?

    /// Connects a session over a socket that is connecting.
    init(over below: StreamSocket, session: any TLSSession) {
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

    override func failed(_ failure: TLSSessionFailure) { handshakeFailure = handshakeFailure ?? failure }

    override func connectionError() -> SystemError? { error }
}
