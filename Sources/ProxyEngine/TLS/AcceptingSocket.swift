import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import StreamReading
import Units

/// The client's side of a proxy that listens with TLS. Its ClientHello waits until the server is known, whose choice of
/// protocol is the client's.
final class AcceptingSocket: SecureSocket {
    /// The ClientHello of the client.
    private(set) var greeting: TLSGreeting?
    private var reader = GreetingReader()
    /// The alert that follows the handshake.
    private var waitingAlert: UInt8?
    private unowned let connection: Connection
    /// The fault that holds up the handshake, until it has.
    private var stall: (entry: HandshakeFaults.Entry, value: (point: HandshakePoint, time: Duration))?

    /// Takes the bytes of `below` for a connection, which lives longer.
    init(over below: StreamSocket, for connection: Connection) {
        self.connection = connection
        super.init(over: below)
    }

    /// Takes the faults that have stayed.
    func faultsChanged(to faults: HandshakeFaults) {
        if stall != nil { stall = faults.stall }
    }

    /// Whether the ClientHello is here, and no session yet.
    var isWaiting: Bool { greeting != nil && session == nil && error == nil && !isClosed }

    override func advance() {
        if session == nil, greeting == nil, error == nil { readGreeting() }
        super.advance()
    }

    private func readGreeting() {
        while below.isReadable, reader.room > 0 {
            switch below.receive(limit: reader.room) {
            case .received(let chunk):
                switch loop.withScratch(chunk.count, { reader.read($0) }) {
                case .incomplete:
                    continue
                case .greeting(let name, let protocols):
                    greeting = TLSGreeting(name: name, protocols: protocols)
                    // Dialing has a limit of its own.
                    cancelTimer()
                    return connection.greeted()
                case .foreign:
                    return refuseForeign()
                }
            case .wouldBlock:
                return
            case .ended:
                return leave(SystemError(call: "recv", code: SystemError.connectionReset))
            case .failed(let error):
                return leave(error)
            }
        }
    }

    /// A client that doesn't speak TLS gets an error that it may understand.
    private func refuseForeign() {
        if reader.isRequest {
            let text = "This port speaks HTTPS: use https:// in front of the address.\n"
            let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
            transmit(text: Array("\(head)Content-Length: \(text.utf8.count)\r\n\r\n\(text)".utf8))
        } else {
            transmit(text: TLSAlert.record(TLSAlert.unexpectedMessage))
        }
        connection.tell(.clientFailed(reader.isRequest ? .plainHTTP : .noTLS))
        leave(nil)
    }

    /// The client is gone, or is to go, before the connection has begun.
    private func leave(_ error: SystemError?) {
        if let error { fail(error) }
        connection.abandon(reset: error != nil)
    }

    /// The connection of the wire, which takes the records, has limits of its own. A fault that holds them back has none.
    override func limitRest() {
        if isHeld { super.limitRest() } else { cancelTimer() }
    }

    override func fail(_ error: SystemError) {
        super.fail(error)
        // Nothing reads it before it has begun.
        if greeting == nil, !isClosed { connection.abandon(reset: true) }
    }

    /// Goes on with the handshake: the session reads the ClientHello.
    func accept(_ session: any TLSSession) {
        self.session = session
        stall = connection.tls?.faults.stall
        setTimer()
        unread.append(reader.bytes, of: loop)
        reader = GreetingReader()
        session.start { transmit($0) }
        // The handshake may fail, and the connection has yet to flow.
        watched()
    }

    override func transmit(_ records: RawSpan) {
        guard let (entry, stall) = stall, let place = stall.point.place(in: records) else {
            return super.transmit(records)
        }
        self.stall = nil
        super.transmit(records.extracting(first: place))
        connection.record(entry.event, nil, loop.now)
        hold(for: stall.time)
        super.transmit(records.extracting(place...))
    }

    /// Sends an alert behind the content, and not before the handshake is complete.
    func send(_ alert: UInt8) {
        guard error == nil else { return }
        if isEstablished { session?.send(alert: alert) { transmit($0) } } else { waitingAlert = alert }
    }

    override func opened() {
        if let alert = waitingAlert.take() { send(alert) }
    }

    /// Sends an alert in place of a ServerHello. The caller closes.
    func refuse(_ alert: UInt8) { transmit(text: TLSAlert.record(alert)) }

    override func failed(_ failure: TLSSessionFailure) {
        let isFaulty = connection.tls?.faults.isEmpty == false
        connection.tell(.clientFailed(isFaulty ? .fault(failure) : .session(failure)))
    }
}

extension HandshakeFaults {
    fileprivate var stall: (entry: Entry, value: (point: HandshakePoint, time: Duration))? {
        first { if case .stall(let point, let time) = $0 { (point, time) } else { nil } }
    }
}

extension HandshakePoint {
    /// Where it is in whole records of a server's handshake; `nil` if it is not among them.
    func place(in records: RawSpan) -> Int? {
        var found: Int?
        var start = 0
        var isFirstFlight = false
        while records.byteCount - start > TLSRecord.headSize {
            let end = start + TLSRecord.headSize + TLSRecord.length(in: records, at: start)
            switch (self, TLSRecord.type(in: records, at: start)) {
            case (.serverHello, _):
                return 0
            case (.certificate, .handshake?):
                // Behind the first message, which may have a record of its own (RFC 8446, section 4).
                let message = start + TLSRecord.headSize
                return min(end, message + 4 + TLSRecord.messageLength(in: records, at: message), records.byteCount)
            case (.finished, .handshake?):
                if start == 0, records.byte(at: TLSRecord.headSize) == TLSRecord.serverHello { isFirstFlight = true }
            case (.finished, .applicationData?):
                // A session may stop in a record.
                found = min(end, records.byteCount) - 1
            case (.finished, .changeOfKeys?):
                // In TLS 1.2 its record follows that of the change of keys, in the second flight.
                if !isFirstFlight { found = records.byteCount - 1 }
            case (_, _):
                break
            }
            start = end
        }
        return found
    }
}
