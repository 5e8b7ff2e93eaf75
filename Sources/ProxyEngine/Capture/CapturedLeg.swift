import EventLoop
import Units

/// The packets of one of a connection's sockets. The near end is Squall.
final class CapturedLeg: SocketTap {
    /// The most bytes of the peer that wait: 32 KiB, more than a handshake receives at once.
    private static let heldLimit = 32 << 10

    private enum State {
        case connecting, open, over
    }

    /// What one end has sent.
    private struct Side {
        var end: CapturedPacket.End
        /// The sequence number of its next byte.
        var next: UInt32
        var hasFinished = false
    }

    private let interface: UInt32
    private let connection: ConnectionCapture
    /// Whether the capture gets the secrets of sessions.
    private let awaitsSecrets: Bool
    private var near: Side
    private var far: Side
    private var state = State.connecting
    /// The first error (errno) of the open connection; further ones follow from it.
    private var failure: Int32?
    /// Whether the peer has reset it.
    private var wasReset: Bool { failure.map(SocketTap.isReset) ?? false }
    /// Whether packets of the peer have been written since the last one of the near end.
    private(set) var hasUnacknowledged = false
    /// What is to be said on the packet that ends the connection.
    var comments: [String] = []
    /// Whether packets may follow.
    var isOpen: Bool { state == .open }
    /// Whether the last packet with content was the near end's.
    private var wasNearLast = false
    /// The peer's bytes that wait, and when they came.
    private var held: [(bytes: [UInt8], moment: Moment)] = []
    private var heldCount = 0

    /// The connection that has the number `number` in its capture, on which no packet has passed.
    init(
        of connection: ConnectionCapture,
        number: UInt32,
        interface: UInt32,
        near: CapturedPacket.End,
        far: CapturedPacket.End,
        awaitsSecrets: Bool
    ) {
        (self.connection, self.interface, self.awaitsSecrets) = (connection, interface, awaitsSecrets)
        // Readers tell connections with the same ports by it. Multiples of the golden ratio of 2³² are far from each other.
        let start = number &* 0x9E37_79B9
        (self.near, self.far) = (Side(end: near, next: start), Side(end: far, next: start))
    }

    /// The peer has connected.
    func accepted() {
        write(fromNear: false, .syn)
        write(fromNear: true, [.syn, .ack])
        write(fromNear: false, .ack)
        state = .open
    }

    /// The near end connects.
    func dialed() { write(fromNear: true, .syn) }

    override func connected() {
        guard state == .connecting else { return }
        write(fromNear: false, [.syn, .ack])
        write(fromNear: true, .ack)
        state = .open
    }

    override func received(_ bytes: Span<UInt8>) {
        guard !held.isEmpty || awaitsSecrets && wasNearLast && CapturedLeg.leadsToSecrets(bytes) else {
            return write(bytes, fromNear: false)
        }
        held.append((bytes.indices.map { bytes[$0] }, connection.now))
        heldCount += bytes.count
        if heldCount > CapturedLeg.heldLimit { writeHeld() }
    }

    /// Whether a flight of TLS begins that the near end may make secrets of: with a message of the handshake in the clear
    /// (RFC 8446, sections 4 and 5.1), but for a ClientHello. A reader needs secrets in front of what they decrypt, so the
    /// flight waits for the next packet of the near end.
    private static func leadsToSecrets(_ bytes: Span<UInt8>) -> Bool {
        bytes.count > TLSRecord.headSize && bytes[0] == TLSRecord.ContentType.handshake.rawValue && bytes[1] == 3
            && bytes[TLSRecord.headSize] != TLSRecord.clientHello
    }

    private func writeHeld() {
        let packets = held
        (held, heldCount) = ([], 0)
        for (bytes, moment) in packets { write(bytes.span, fromNear: false, at: moment) }
    }

    override func sent(_ bytes: Span<UInt8>) { write(bytes, fromNear: true) }

    override func ended() {
        guard state == .open, !far.hasFinished else { return }
        far.hasFinished = true
        write(fromNear: false, [.fin, .ack])
    }

    override func failed(_ code: Int32) {
        switch state {
        // What the peer had sent before its reset may still be received.
        case .open: failure = failure ?? code
        case .connecting:
            // An answer to SYN is a reset as well; silence is none.
            if SocketTap.isReset(code) { write(fromNear: false, [.rst, .ack]) }
            state = .over
        case .over: break
        }
    }

    override func finished() {
        guard state == .open, !wasReset, !near.hasFinished else { return }
        near.hasFinished = true
        write(fromNear: true, [.fin, .ack])
    }

    override func closed(reset: Bool) {
        writeHeld()
        if state == .open, wasReset {
            write(fromNear: false, [.rst, .ack])
        } else if state == .open, reset {
            write(fromNear: true, [.rst, .ack])
        } else {
            finished()
        }
        state = .over
        // The near end has ended it before.
        connection.comments += comments
        comments = []
    }

    /// Acknowledges what has come, with what is to be said of it.
    func acknowledge() {
        if state == .open { write(fromNear: true, .ack) }
    }

    private func write(_ bytes: Span<UInt8>, fromNear: Bool, at moment: Moment? = nil) {
        guard state == .open else { return }
        var rest = bytes
        while !rest.isEmpty {
            let count = min(rest.count, CapturedPacket.contentLimit)
            write(fromNear: fromNear, [.psh, .ack], rest.extracting(first: count), at: moment)
            rest = rest.extracting(droppingFirst: count)
        }
    }

    private func write(
        fromNear: Bool,
        _ flags: CapturedPacket.Flags,
        _ content: Span<UInt8> = Span(),
        at moment: Moment? = nil
    ) {
        writeHeld()
        let (source, destination) = fromNear ? (near, far) : (far, near)
        let isEnd = flags.contains(.rst) || fromNear && flags.contains(.fin)
        connection.append(
            CapturedPacket(
                interface: interface,
                source: source.end,
                destination: destination.end,
                isInbound: !fromNear,
                flags: flags,
                sequence: source.next,
                acknowledgement: flags.contains(.ack) ? destination.next : 0
            ),
            content,
            isEnd ? comments : [],
            at: moment
        )
        if isEnd { comments = [] }
        if !content.isEmpty { wasNearLast = fromNear }
        let count = UInt32(content.count) + (flags.isDisjoint(with: [.syn, .fin]) ? 0 : 1)
        if fromNear {
            near.next &+= count
            hasUnacknowledged = false
        } else {
            far.next &+= count
            hasUnacknowledged = hasUnacknowledged || count > 0
        }
    }
}
