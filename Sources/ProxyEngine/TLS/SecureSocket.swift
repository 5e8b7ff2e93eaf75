import EventLoop
import OperatingSystem
import Units

/// A socket with TLS over another one, which it owns.
///
/// Records are decrypted when they are whole, and only when no content waits; so at most a batch of them is in memory.
/// Content is encrypted in pieces, and no piece is taken while records wait for room in the socket below.
class SecureSocket: SocketLayer, LoopShutdownHandler {
    /// The time limit of a handshake, and after a close of the wait for room for the last records: 10 s.
    static let handshakeLimit = Duration.seconds(10)
    /// The most content that is encrypted at once, unless a fault wants less: 64 KiB.
    private static let pieceLimit = 64 << 10
    /// The most records that are decrypted at once: 256 KiB. The session keeps as much memory until it ends.
    private static let batchLimit = 256 << 10
    /// The largest record with its head (RFC 8446, section 5.2; RFC 5246, section 6.2.3).
    static let recordLimit = TLSRecord.headSize + (1 << 14) + 2_048

    private enum Tag {
        static let socket = 0
        static let timer = 1
        static let hold = 2
    }

    private enum Ending {
        case finish
        case close
    }

    /// The socket below.
    let below: StreamSocket
    var session: (any TLSSession)? { didSet { told = false } }
    /// Bytes of the peer that are no whole record yet, or wait for content to be taken.
    final var unread = ByteQueue()
    /// Records that wait for room in the socket below.
    private var unsent = ByteQueue()
    /// The end that follows the records.
    private var ending: Ending?
    private var timer = LazyTimer()
    private var holdTimer = LazyTimer()
    /// Whether a fault holds back records.
    private(set) final var isHeld = false
    /// The most content that is encrypted at once.
    final var pieceLimit = SecureSocket.pieceLimit
    /// Whether the content ends as soon as the handshake is complete.
    private var endsWhenOpen = false
    /// Whether this side sends close_notify at the end of its content.
    var endsWithNotice = false
    /// Whether the socket below has ended.
    private var hasEnded = false
    private(set) final var error: SystemError?
    /// The error of a send after the handshake. Bytes from the peer are still received.
    private var sendError: SystemError?
    /// Whether the end of the handshake has been told.
    private var told = false
    private(set) final var isClosed = false

    init(over below: StreamSocket) {
        self.below = below
        super.init(on: below.loop)
    }

    /// Begins to watch the socket below; the handshake may take `handshakeLimit` from here on.
    func begin() {
        below.watch(by: self, tag: Tag.socket)
        setTimer()
    }

    func setTimer() { timer.set(to: loop.now + SecureSocket.handshakeLimit, for: self, tag: Tag.timer, on: loop) }

    /// Limits the wait for room for the last records, anew whenever some have been sent.
    func limitRest() { setTimer() }

    /// Ends the time limit of the handshake for now.
    func cancelTimer() { timer.cancel() }

    /// Whether the peer has ended its content by close_notify.
    var hasEndedWithNotice: Bool {
        if case .ended? = session?.state { true } else { false }
    }

    /// The protocol that ALPN has chosen.
    var chosenProtocol: String? {
        switch session?.state {
        case .open(let name), .ended(let name): name
        case .handshaking, .failed, nil: nil
        }
    }

    /// Why the session is over, if it is.
    var sessionFailure: TLSSessionFailure? {
        if case .failed(let failure)? = session?.state { failure } else { nil }
    }

    final var isEstablished: Bool {
        switch session?.state {
        case .open, .ended: true
        case .handshaking, .failed, nil: false
        }
    }

    // MARK: Events

    override func socketIsReady(_ tag: Int) {
        if isClosed { return flushRest() }
        flush()
        advance()
    }

    /// Holds back what is sent from now on, for a time that doesn't count as the handshake's.
    final func hold(for time: Duration) {
        isHeld = true
        cancelTimer()
        holdTimer.set(to: loop.now + time, for: self, tag: Tag.hold, on: loop)
    }

    override func timerFired(_ tag: Int) {
        if tag == Tag.hold {
            isHeld = false
            if !isEstablished, !isClosed { setTimer() }
            return socketIsReady(Tag.socket)
        }
        if isClosed { return letGo(reset: true) }
        guard !isEstablished else { return }
        fail(SystemError(call: "TLS", code: SystemError.timedOut, reason: "the handshake has taken more than 10 s"))
        tell()
    }

    /// Goes on with the handshake, or tells what can be read and written.
    func advance() {
        if !isEstablished, error == nil, session != nil { readHandshake() }
        if isEstablished, !told {
            told = true
            timer.cancel()
            opened()
            if endsWhenOpen { shutdownWrite() }
        }
        tell()
    }

    /// The handshake is complete.
    func opened() {}

    /// What happens to the connection when the session has failed.
    func failed(_ failure: TLSSessionFailure) {}

    func tell() {
        let isReadable = error != nil || hasEnded || below.isReadable || !unread.isEmpty || content > 0
        socket?.layerChanged(
            isReadable: isReadable && (isEstablished || error != nil || hasEnded),
            isWritable: error ?? sendError != nil || isEstablished && unsent.isEmpty && below.isWritable,
            hasPeerEnded: below.hasPeerEnded || hasEndedWithNotice
        )
    }

    private func readHandshake() {
        while !isEstablished, error == nil {
            let (step, count) = nextRecords(of: SecureSocket.recordLimit, behind: 0)
            guard step == nil else {
                switch step {
                case .failed(let error): fail(error)
                case .ended:
                    end(TLSSessionFailure(alert: nil, description: "the connection has ended in the handshake"))
                case .received, .wouldBlock, nil: break
                }
                return
            }
            feed(count, behind: 0)
        }
    }

    /// A failure as it is reported.
    func described(_ failure: TLSSessionFailure) -> TLSSessionFailure { failure }

    private func end(_ failure: TLSSessionFailure) {
        let failure = described(failure)
        fail(SystemError(call: "TLS", code: 0, reason: failure.description))
        failed(failure)
    }

    // MARK: Reading

    override func watched() {
        // An earlier readiness is reported in the next turn.
        loop.callSoon(self, tag: Tag.socket)
    }

    private var content: Int { session?.waitingContent ?? 0 }

    override func receive(limit: Int, behind offset: Int) -> ReceiveResult {
        while true {
            let count = takeContent(min(limit, EventLoop.scratchCapacity - offset), behind: offset)
            if count > 0 { return .received(Chunk(count: count)) }
            if let error { return .failed(error) }
            guard isEstablished else { return .wouldBlock }
            if hasEndedWithNotice { return .ended }
            let (step, length) = nextRecords(
                of: max(min(limit, SecureSocket.batchLimit), SecureSocket.recordLimit),
                behind: offset
            )
            if let step {
                if case .failed(let error) = step { fail(error) }
                return step
            }
            feed(length, behind: offset)
        }
    }

    private func takeContent(_ limit: Int, behind offset: Int) -> Int {
        guard let session, session.waitingContent > 0 else { return 0 }
        var place = offset
        let loop = loop
        return session.takeContent(limit) { bytes in
            loop.copyToScratch(bytes, at: place)
            place += bytes.byteCount
        }
    }

    /// Puts whole records, at least one and at most `limit` bytes, into the scratch buffer behind `offset`.
    ///
    /// - Returns: their bytes, or what is there in their place.
    private func nextRecords(of limit: Int, behind offset: Int) -> (step: ReceiveResult?, count: Int) {
        var count = unread.moveToScratch(at: offset, limit: limit, of: loop)
        while true {
            let whole = loop.withScratch(offset + count) { TLSRecord.wholeRecords(of: $0.extracting(offset...)) }
            guard let whole else {
                // No record at all. The session says what is wrong with it.
                return (nil, count)
            }
            if whole > 0 {
                keep(count - whole, at: offset + whole)
                return (nil, whole)
            }
            if hasEnded {
                unread.removeAll(of: loop)
                return (.ended, 0)
            }
            let room = min(max(limit, SecureSocket.recordLimit), EventLoop.scratchCapacity - offset) - count
            guard below.isReadable, room > 0 else {
                keep(count, at: offset)
                return (.wouldBlock, 0)
            }
            switch below.receive(limit: room, behind: offset + count) {
            case .received(let chunk): count += chunk.count
            case .wouldBlock: continue
            case .ended: hasEnded = true
            case .failed(let error): return (.failed(error), 0)
            }
        }
    }

    /// Puts bytes of the scratch buffer in front of those that are unread.
    private func keep(_ count: Int, at offset: Int) {
        guard count > 0 else { return }
        guard !unread.isEmpty else { return unread.appendScratch(from: offset, length: count, of: loop) }
        var rest = ByteQueue()
        swap(&rest, &unread)
        unread.appendScratch(from: offset, length: count, of: loop)
        // Rare: a limit below a batch that was received before.
        let length = rest.moveToScratch(at: offset, limit: rest.count, of: loop)
        unread.appendScratch(from: offset, length: length, of: loop)
    }

    /// Has the session read records of the scratch buffer.
    private func feed(_ count: Int, behind offset: Int) {
        guard let session, count > 0 else { return }
        var alert: UInt8?
        if !isEstablished {
            alert = loop.withScratch(offset + count) { TLSAlert.inClear(among: $0.extracting(offset...)) }
        }
        loop.withRawScratch(offset, count) { bytes in session.receive(bytes) { transmit($0) } }
        guard let failure = sessionFailure, error == nil else { return }
        guard failure.alert == nil, let name = alert.map(TLSAlert.name) else { return end(failure) }
        end(TLSSessionFailure(alert: name, description: "the peer has sent the alert \(name)"))
    }

    func fail(_ error: SystemError) {
        timer.cancel()
        self.error = self.error ?? error
    }

    private func failSending(_ error: SystemError) {
        guard isEstablished else { return fail(error) }
        sendError = sendError ?? error
        unsent.removeAll(of: loop)
    }

    override func receivable() -> Int {
        if content > 0 || error != nil || !isEstablished || hasEndedWithNotice { return content }
        // Only content can be counted.
        let (step, count) = nextRecords(of: SecureSocket.pieceLimit, behind: 0)
        if step == nil { feed(count, behind: 0) } else if case .failed(let error) = step { fail(error) }
        return content
    }

    // MARK: Sending

    override func send(_ bytes: RawSpan) -> SendResult {
        if let error = error ?? sendError { return .failed(error) }
        guard let session, isEstablished else { return .wouldBlock }
        var sent = 0
        while sent < bytes.byteCount, unsent.isEmpty, error ?? sendError == nil {
            let end = min(bytes.byteCount, sent + pieceLimit)
            session.send(bytes.extracting(sent..<end)) { transmit($0) }
            sent = end
        }
        if let error = error ?? sendError { return .failed(error) }
        return sent > 0 ? .sent(sent) : .wouldBlock
    }

    /// Sends records, or keeps what the socket below doesn't take.
    func transmit(_ records: RawSpan) {
        guard error ?? sendError == nil, below.isOpen, !records.isEmpty else { return }
        var sent = 0
        if unsent.isEmpty, below.isWritable, !isHeld {
            switch below.send(records) {
            case .sent(let count): sent = count
            case .wouldBlock: break
            case .failed(let error): return failSending(error)
            }
        }
        if sent < records.byteCount { unsent.append(records.extracting(sent...), of: loop) }
    }

    /// Sends bytes in the clear, in front of a session.
    func transmit(text: [UInt8]) {
        unsent.append(text, of: loop)
        flush()
    }

    private func flush() {
        while !unsent.isEmpty, below.isWritable, error == nil, !isHeld {
            switch unsent.send(to: below, limit: unsent.count) {
            case .sent: continue
            case .wouldBlock: return
            case .failed(let error): return failSending(error)
            }
        }
        if unsent.isEmpty, ending == .finish {
            ending = nil
            below.shutdownWrite()
        }
    }

    private func endContent() {
        guard endsWithNotice, isEstablished, error == nil else { return }
        endsWithNotice = false
        session?.endContent { transmit($0) }
    }

    // MARK: Ending

    override func shutdownWrite() {
        // No content is no handshake that stops.
        endsWhenOpen = session != nil && !isEstablished && error == nil
        if endsWhenOpen { return }
        endContent()
        ending = .finish
        flush()
    }

    override func close() {
        endContent()
        isClosed = true
        forget()
        loop.deferRelease(self)
        guard !unsent.isEmpty, error == nil else { return letGo(reset: error ?? sendError != nil && below.isOpen) }
        // As the system does with what it was given before a close.
        loop.add(self)
        ending = .close
        limitRest()
        flushRest()
    }

    override func reset() {
        isClosed = true
        forget()
        loop.deferRelease(self)
        letGo(reset: true)
    }

    private func forget() {
        session?.cancel()
        session = nil
        unread.removeAll(of: loop)
    }

    private func flushRest() {
        guard ending == .close else { return }
        let waiting = unsent.count
        flush()
        if unsent.isEmpty || error != nil { return letGo(reset: error ?? sendError != nil) }
        if unsent.count < waiting { limitRest() }
    }

    private func letGo(reset: Bool) {
        timer.cancel()
        holdTimer.cancel()
        ending = nil
        unsent.removeAll(of: loop)
        if reset { below.reset() } else { below.close() }
        loop.deferRelease(self)
        loop.remove(self)
    }

    func loopWillEnd() { letGo(reset: false) }

    // MARK: Status

    override func unacknowledged() -> Int { unsent.count + below.unacknowledged() }
    override func failure() -> SystemError? {
        error ?? sendError ?? (below.isBroken() ? SystemError(call: "recv", code: SystemError.connectionReset) : nil)
    }

    override var hasPeerClosed: Bool { below.hasPeerClosed }
    override func setReceiveBuffer(_ bytes: Int) { below.setReceiveBuffer(bytes) }
    override func probe(every seconds: Int, count: Int) { below.probe(every: seconds, count: count) }
    override var localAddress: SocketAddress? { below.localAddress }
    override var peerAddress: SocketAddress? { below.peerAddress }
}

/// Records of TLS (RFC 8446, section 5.1).
enum TLSRecord {
    static let headSize = 5
    /// The types of handshake messages (RFC 8446, section 4).
    static let clientHello: UInt8 = 1
    static let serverHello: UInt8 = 2
    /// The largest content of a record with its protection (RFC 5246, section 6.2.3).
    private static let lengthLimit = (1 << 14) + 2_048

    /// The types (RFC 8446, section 5.1).
    enum ContentType: UInt8 {
        case changeOfKeys = 20
        case alert
        case handshake
        case applicationData
    }

    /// The type of the record at an offset; `nil` for one that doesn't exist.
    static func type(in records: RawSpan, at start: Int) -> ContentType? {
        ContentType(rawValue: records.byte(at: start))
    }

    /// The length of the content of the record at an offset, whose head is whole.
    static func length(in records: RawSpan, at start: Int) -> Int {
        Int(records.byte(at: start + 3)) << 8 | Int(records.byte(at: start + 4))
    }

    /// The length of the handshake message at an offset (RFC 8446, section 4); 0 where its head isn't whole.
    static func messageLength(in records: RawSpan, at start: Int) -> Int {
        guard records.byteCount >= start + 4 else { return 0 }
        return (1...3).reduce(0) { $0 << 8 | Int(records.byte(at: start + $1)) }
    }

    /// The bytes of the whole records in front; `nil` where no record begins.
    static func wholeRecords(of bytes: Span<UInt8>) -> Int? {
        var end = 0
        while end < bytes.count {
            guard ContentType(rawValue: bytes[end]) != nil, end + 1 == bytes.count || bytes[end + 1] == 3 else {
                // What is whole in front of it comes first.
                return end > 0 ? end : nil
            }
            guard bytes.count - end >= headSize else { break }
            let length = Int(bytes[end + 3]) << 8 | Int(bytes[end + 4])
            guard length <= lengthLimit else { return end > 0 ? end : nil }
            guard bytes.count - end >= headSize + length else { break }
            end += headSize + length
        }
        return end
    }
}
