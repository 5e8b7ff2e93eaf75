import EventLoop
import Units

/// The packets of one of a connection's sockets. The near end is Squall.
final class CapturedLeg: SocketTap {
    private enum State {
        case connecting, open, over
    }

    /// What one end has sent.
    private struct Side {
        var end: CapturedPacket.End
        /// The sequence number of its next byte.
        var next: UInt32
        var hasSent = false
        var hasFinished = false
    }

    private let interface: UInt32
    private let connection: ConnectionCapture
    private var near: Side
    private var far: Side
    private var state = State.connecting
    /// Whether the peer has reset it.
    private var wasReset = false
    /// Whether bytes of the peer have come since the last packet of the near end.
    private(set) var hasUnacknowledged = false
    /// What is to be said on the next packet.
    var comments: [String] = []
    /// Whether packets may follow.
    var isOpen: Bool { state == .open }
    /// Whether the first bytes of a peer that doesn't speak first are written behind the secrets that follow from them, as a reader
    /// needs those first: its answer to a ClientHello.
    private let awaitsSecrets: Bool
    /// The peer's bytes that wait, and when they came.
    private var held: (bytes: [UInt8], moment: Moment)?

    /// The connection that has the number `number` in its capture, on which no packet has passed.
    init(
        of connection: ConnectionCapture,
        number: UInt32,
        interface: UInt32,
        near: CapturedPacket.End,
        far: CapturedPacket.End,
        awaitsSecrets: Bool = false
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
        hasUnacknowledged = true
        if awaitsSecrets, near.hasSent, !far.hasSent, held == nil {
            var copy: [UInt8] = []
            for index in bytes.indices { copy.append(bytes[index]) }
            held = (copy, connection.now)
            return
        }
        write(bytes, fromNear: false)
    }

    private func writeHeld() {
        guard let (bytes, moment) = held else { return }
        held = nil
        write(bytes.span, fromNear: false, at: moment)
    }

    override func sent(_ bytes: Span<UInt8>) { write(bytes, fromNear: true) }

    override func ended() {
        guard state == .open, !far.hasFinished else { return }
        far.hasFinished = true
        write(fromNear: false, [.fin, .ack])
        hasUnacknowledged = true
    }

    override func failed(_ code: Int32) {
        switch state {
        // What the peer had sent before its reset may still be received.
        case .open: wasReset = true
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
            comments,
            at: moment ?? connection.now
        )
        comments = []
        let count = UInt32(content.count) + (flags.isDisjoint(with: [.syn, .fin]) ? 0 : 1)
        if fromNear {
            near.next &+= count
            near.hasSent = near.hasSent || !content.isEmpty
            hasUnacknowledged = false
        } else {
            far.next &+= count
            far.hasSent = far.hasSent || !content.isEmpty
        }
    }
}
