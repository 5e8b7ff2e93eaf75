import EventLoop
import FaultProfile
import ProxyEngine

/// TLS without cryptography: its records carry content as it is, with a hash that shows whether anything is missing or changed.
final class ClearSession: TLSSession {
    /// What is wrong with a session. Nothing of it shows on its own side.
    struct Manners: Sendable {
        /// The bytes of records after which it sends no more: in the handshake, in a record, or between two.
        var silentAt: Int?
        /// The bytes of content after which it sends an alert, and no more.
        var alertsAt: Int?
        /// Whether it ends without close_notify.
        var omitsNotice = false

        /// Whether a connection may end before its time.
        var endsConnections: Bool { silentAt != nil || alertsAt != nil }

        /// Draws them: nothing in one of two.
        static func draw(_ dice: inout Dice) -> Manners {
            switch dice.number(0...7) {
            case 0: Manners(silentAt: dice.number(0...100))
            case 1: Manners(silentAt: dice.spread(0...100_000))
            case 2: Manners(alertsAt: dice.spread(0...100_000))
            case 3: Manners(omitsNotice: true)
            default: Manners()
            }
        }
    }

    private enum Kind {
        static let alert: UInt8 = 21
        static let handshake: UInt8 = 22
        static let content: UInt8 = 23
    }

    private static let closeNotify: [UInt8] = [1, 0]
    private static let internalError: [UInt8] = [2, 80]
    private static let certificateExpired: [UInt8] = [2, 45]
    private static let finished: [UInt8] = [20]
    private static let hello: [UInt8] = [2, 0, 0, 1, 0]
    private static let largest = 1 << 14
    private static let hashSize = 4

    private(set) var state = TLSSessionState.handshaking
    private var content: [UInt8] = []
    private let isClient: Bool
    private let choice: String?
    /// Whether its certificate is one that no client accepts.
    private let isFlawed: Bool
    private var manners: Manners
    private var emitted = 0
    private var contentSent = 0
    /// The numbers of the next records, which are hashed with them.
    private var numbers: (sent: UInt32, received: UInt32) = (0, 0)

    init(isClient: Bool, choosing choice: String? = nil, isFlawed: Bool = false, manners: Manners) {
        (self.isClient, self.choice, self.isFlawed, self.manners) = (isClient, choice, isFlawed, manners)
    }

    var waitingContent: Int { content.count }

    /// Passes a record to the peer, as far as the session sends any more.
    private func emit(_ kind: UInt8, _ body: [UInt8], _ output: (RawSpan) -> Void) {
        var record = [kind, 3, 3, UInt8(body.count >> 8), UInt8(body.count & 255)] + body
        if let limit = manners.silentAt { record = Array(record.prefix(max(0, limit - emitted))) }
        emitted += record.count
        if !record.isEmpty { output(record.span.bytes) }
    }

    /// The hash of a record of one side (FNV-1a).
    private static func hash(_ bytes: ArraySlice<UInt8>, number: UInt32, ofClient: Bool) -> [UInt8] {
        var sum: UInt32 = 2_166_136_261 ^ number &* 2 ^ (ofClient ? 1 : 0)
        for byte in bytes { sum = (sum ^ UInt32(byte)) &* 16_777_619 }
        return (0..<hashSize).map { UInt8(truncatingIfNeeded: sum >> UInt32(8 * $0)) }
    }

    private func emitSealed(_ bytes: ArraySlice<UInt8>, _ output: (RawSpan) -> Void) {
        emit(Kind.content, bytes + ClearSession.hash(bytes, number: numbers.sent, ofClient: isClient), output)
        numbers.sent += 1
    }

    func start(_ output: (RawSpan) -> Void) {
        guard isClient else { return }
        emit(Kind.handshake, ClearSession.clientHello, output)
    }

    /// A ClientHello of TLS 1.2 with one cipher suite and no extension.
    static let clientHello: [UInt8] = {
        let body = [3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0, 2, 0x13, 1, 1, 0]
        return [1, 0, 0, UInt8(body.count)] + body
    }()

    func receive(_ records: RawSpan, _ output: (RawSpan) -> Void) {
        let bytes = records.withUnsafeBytes { Array($0) }
        var start = 0
        while start < bytes.count {
            if case .failed = state { return }
            guard bytes.count - start >= 5 else { return fail("a piece of a record") }
            let end = start + 5 + Int(bytes[start + 3]) << 8 + Int(bytes[start + 4])
            guard end <= bytes.count, end > start + 5 else { return fail("a piece of a record") }
            read(bytes[start], bytes[start + 5..<end], output)
            start = end
        }
    }

    private func read(_ kind: UInt8, _ body: ArraySlice<UInt8>, _ output: (RawSpan) -> Void) {
        switch (kind, state) {
        case (Kind.handshake, .handshaking):
            readHandshake(Array(body), output)
        case (Kind.content, .handshaking) where isClient:
            guard opened(body).map({ Array($0) }) == ClearSession.finished else { return fail("no Finished") }
            emit(Kind.handshake, ClearSession.finished, output)
            state = .open(protocol: nil)
        case (Kind.content, .open):
            guard let bytes = opened(body) else { return fail("the hash of a record is wrong") }
            content += bytes
        case (Kind.alert, .open(let name)) where Array(body) == ClearSession.closeNotify:
            state = .ended(protocol: name)
        case (Kind.alert, _) where body.count == 2:
            state = .failed(TLSSessionFailure(alert: "\(body.last ?? 0)", description: "the peer has sent an alert"))
        default:
            fail("a record of type \(kind) that doesn't belong here")
        }
    }

    private func readHandshake(_ body: [UInt8], _ output: (RawSpan) -> Void) {
        if isClient {
            if body == ClearSession.hello { return }
            emit(Kind.alert, ClearSession.certificateExpired, output)
            fail("the certificate is refused")
        } else if body == ClearSession.finished, emitted > 0 {
            state = .open(protocol: choice)
        } else if body == ClearSession.clientHello, emitted == 0 {
            emit(Kind.handshake, isFlawed ? ClearSession.hello + [1] : ClearSession.hello, output)
            emitSealed(ClearSession.finished[...], output)
        } else {
            emit(Kind.alert, ClearSession.internalError, output)
            fail("a message that doesn't belong here")
        }
    }

    /// The content of the next record; `nil` if it isn't what was sent.
    private func opened(_ body: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let bytes = body.dropLast(ClearSession.hashSize)
        let hash = ClearSession.hash(bytes, number: numbers.received, ofClient: !isClient)
        numbers.received += 1
        return body.suffix(ClearSession.hashSize).elementsEqual(hash) ? bytes : nil
    }

    private func fail(_ text: String) { state = .failed(TLSSessionFailure(alert: nil, description: text)) }

    func takeContent(_ limit: Int, _ body: (RawSpan) -> Void) -> Int {
        let count = min(limit, content.count)
        body(Array(content.prefix(count)).span.bytes)
        content.removeFirst(count)
        return count
    }

    func send(_ content: RawSpan, _ output: (RawSpan) -> Void) {
        let bytes = content.withUnsafeBytes { Array($0) }
        for start in stride(from: 0, to: bytes.count, by: ClearSession.largest) {
            let piece = bytes[start..<min(bytes.count, start + ClearSession.largest)]
            contentSent += piece.count
            if let place = manners.alertsAt, contentSent > place {
                emit(Kind.alert, ClearSession.internalError, output)
                manners = Manners(silentAt: 0)
            }
            emitSealed(piece, output)
        }
    }

    func send(alert: UInt8, _ output: (RawSpan) -> Void) {
        emit(Kind.alert, [2, alert], output)
        manners = Manners(silentAt: 0)
    }

    func endContent(_ output: (RawSpan) -> Void) {
        if !manners.omitsNotice { emit(Kind.alert, ClearSession.closeNotify, output) }
    }

    func cancel() { content = [] }
}

/// Makes sessions without cryptography, for both sides.
struct ClearTLS: TLSAcceptor, TLSConnector {
    var manners = ClearSession.Manners()

    func accept(
        _ greeting: TLSGreeting,
        on terms: TLSTerms,
        of loop: EventLoop
    ) throws(TLSSessionFailure) -> any TLSSession {
        ClearSession(isClient: false, choosing: terms.choice, isFlawed: terms.flaw != nil, manners: manners)
    }

    func check(_ file: CertificateFile) {}

    func connect(
        to host: String,
        offering protocols: [String],
        on loop: EventLoop
    ) throws(TLSSessionFailure) -> any TLSSession { ClearSession(isClient: true, manners: manners) }
}

/// A client's session through a tunnel of a forward proxy, for which it asks first.
final class TunnelledSession: TLSSession {
    private let session: ClearSession
    private var awaited = Peer.Handshake.connect().reply[...]
    private var failure: TLSSessionFailure?

    init(manners: ClearSession.Manners) { session = ClearSession(isClient: true, manners: manners) }

    var state: TLSSessionState { failure.map { .failed($0) } ?? session.state }

    var waitingContent: Int { session.waitingContent }

    func start(_ output: (RawSpan) -> Void) { output(Peer.Handshake.connect().request.span.bytes) }

    func receive(_ records: RawSpan, _ output: (RawSpan) -> Void) {
        let bytes = records.withUnsafeBytes { Array($0) }
        let reply = bytes.prefix(awaited.count)
        guard awaited.starts(with: reply) else {
            failure = TLSSessionFailure(alert: nil, description: "the proxy has refused the tunnel")
            return
        }
        awaited = awaited.dropFirst(reply.count)
        guard awaited.isEmpty else { return }
        if !reply.isEmpty { session.start(output) }
        let rest = Array(bytes.dropFirst(reply.count))
        if !rest.isEmpty { session.receive(rest.span.bytes, output) }
    }

    func takeContent(_ limit: Int, _ body: (RawSpan) -> Void) -> Int { session.takeContent(limit, body) }

    func send(_ content: RawSpan, _ output: (RawSpan) -> Void) { session.send(content, output) }

    func send(alert: UInt8, _ output: (RawSpan) -> Void) { session.send(alert: alert, output) }

    func endContent(_ output: (RawSpan) -> Void) { session.endContent(output) }

    func cancel() { session.cancel() }
}

/// Makes sessions through tunnels.
struct TunnelledTLS: TLSConnector {
    var manners: ClearSession.Manners

    func connect(
        to host: String,
        offering protocols: [String],
        on loop: EventLoop
    ) throws(TLSSessionFailure) -> any TLSSession { TunnelledSession(manners: manners) }
}
