import EventLoop
import ProxyEngine

/// TLS without cryptography: its records carry content as it is, with a sum that shows whether a piece is missing.
final class ClearSession: TLSSession {
    private enum Kind {
        static let alert: UInt8 = 21
        static let handshake: UInt8 = 22
        static let content: UInt8 = 23
    }

    private static let finished: UInt8 = 20
    private static let largest = 1 << 14

    private(set) var state = TLSSessionState.handshaking
    private var content: [UInt8] = []
    private let isClient: Bool
    private let choice: String?

    init(isClient: Bool, choosing choice: String? = nil) { (self.isClient, self.choice) = (isClient, choice) }

    var waitingContent: Int { content.count }

    private static func record(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
        [kind, 3, 3, UInt8(body.count >> 8), UInt8(body.count & 255)] + body
    }

    func start(_ output: (RawSpan) -> Void) {
        guard isClient else { return }
        // A ClientHello of TLS 1.2 with one cipher suite and no extension.
        let body = [3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0, 2, 0x13, 1, 1, 0]
        output(ClearSession.record(Kind.handshake, [1, 0, 0, UInt8(body.count)] + body).span.bytes)
    }

    func receive(_ records: RawSpan, _ output: (RawSpan) -> Void) {
        let bytes = records.withUnsafeBytes { Array($0) }
        var start = 0
        while start < bytes.count {
            if case .failed = state { return }
            guard bytes.count - start >= 5 else { return fail("a piece of a record") }
            let end = start + 5 + Int(bytes[start + 3]) << 8 + Int(bytes[start + 4])
            guard end <= bytes.count, end > start + 5 else { return fail("a piece of a record") }
            read(bytes[start], Array(bytes[start + 5..<end]), output)
            start = end
        }
    }

    private func read(_ kind: UInt8, _ body: [UInt8], _ output: (RawSpan) -> Void) {
        switch (kind, state) {
        case (Kind.handshake, .handshaking):
            if isClient {
                output(ClearSession.record(Kind.handshake, [ClearSession.finished]).span.bytes)
                state = .open(protocol: nil)
            } else if body == [ClearSession.finished] {
                state = .open(protocol: choice)
            } else {
                output(ClearSession.record(Kind.handshake, [2]).span.bytes)
            }
        case (Kind.content, .open):
            let sum = body.dropLast().reduce(UInt8(0)) { $0 &+ $1 }
            guard body.last == sum else { return fail("the sum of a record is wrong") }
            content += body.dropLast()
        case (Kind.alert, .open(let name)) where body == [1, 0]:
            state = .ended(protocol: name)
        case (Kind.alert, _) where body.count == 2:
            state = .failed(TLSSessionFailure(alert: "\(body[1])", description: "the peer has sent an alert"))
        default:
            fail("a record of type \(kind) that doesn't belong here")
        }
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
            let body = bytes[start..<min(bytes.count, start + ClearSession.largest)]
            let sum = body.reduce(UInt8(0)) { $0 &+ $1 }
            output(ClearSession.record(Kind.content, body + [sum]).span.bytes)
        }
    }

    func endContent(_ output: (RawSpan) -> Void) { output(ClearSession.record(Kind.alert, [1, 0]).span.bytes) }

    func cancel() { content = [] }
}

/// Makes sessions without cryptography, for both sides.
struct ClearTLS: TLSAcceptor, TLSConnector {
    func accept(
        _ greeting: TLSGreeting,
        on terms: TLSTerms,
        of loop: EventLoop
    ) throws(TLSSessionFailure) -> any TLSSession { ClearSession(isClient: false, choosing: terms.choice) }

    func connect(
        to host: String,
        offering protocols: [String],
        on loop: EventLoop
    ) throws(TLSSessionFailure) -> any TLSSession { ClearSession(isClient: true) }
}

/// A client's session through a tunnel of a forward proxy, for which it asks first.
final class TunnelledSession: TLSSession {
    private let session = ClearSession(isClient: true)
    private var awaited = Peer.Handshake.connect().reply[...]
    private var failure: TLSSessionFailure?

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

    func endContent(_ output: (RawSpan) -> Void) { session.endContent(output) }

    func cancel() { session.cancel() }
}

/// Makes sessions through tunnels.
struct TunnelledTLS: TLSConnector {
    func connect(
        to host: String,
        offering protocols: [String],
        on loop: EventLoop
    ) throws(TLSSessionFailure) -> any TLSSession { TunnelledSession() }
}
