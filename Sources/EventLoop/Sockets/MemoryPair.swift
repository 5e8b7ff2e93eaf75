import OperatingSystem

/// One end of a pair of connected sockets in memory, on one loop.
///
/// It behaves like a socket of the system, but for a reset: the peer receives what was sent before it. Each end holds at
/// most `capacity` bytes that its peer has sent.
public final class MemoryPairEnd: SocketLayer {
    /// The most bytes that an end holds: 256 KiB.
    public static let capacity = 256 << 10

    private enum Ending {
        case finish
        case reset
    }

    /// The addresses that the socket reports.
    public var addresses: (local: SocketAddress?, peer: SocketAddress?) = (nil, nil)
    /// Whether bytes for a peer that has closed are dropped, as where they are on their way; if not, sending fails.
    public var dropsAfterClose = false
    private var peer: MemoryPairEnd?
    private var inbox = ByteQueue()
    /// The end that the peer has put after the bytes of the inbox.
    private var ending: Ending?
    private var capacity = MemoryPairEnd.capacity
    private var isOpen = true
    /// Whether the peer waits for room in the inbox.
    private var isRoomAwaited = false
    private var isQueued = false

    /// Makes a connected pair.
    public static func make(on loop: EventLoop) -> (MemoryPairEnd, MemoryPairEnd) {
        let (one, other) = (MemoryPairEnd(on: loop), MemoryPairEnd(on: loop))
        (one.peer, other.peer) = (other, one)
        return (one, other)
    }

    override private init(on loop: EventLoop) { super.init(on: loop) }

    private func tell() {
        if isQueued || !isOpen { return }
        isQueued = true
        loop.callSoon(self, tag: 0)
    }

    public override func watched() { tell() }

    public override func socketIsReady(_ tag: Int) {
        isQueued = false
        guard isOpen, let socket else { return }
        socket.layerChanged(
            isReadable: !inbox.isEmpty || ending != nil,
            isWritable: room > 0,
            hasPeerEnded: ending != nil
        )
    }

    /// The bytes that the peer takes now.
    private var room: Int {
        guard let peer, peer.isOpen else { return .max }
        return peer.capacity - peer.inbox.count
    }

    public override func receive(limit: Int, behind offset: Int) -> ReceiveResult {
        let count = inbox.moveToScratch(at: offset, limit: limit, of: loop)
        if count > 0 {
            if isRoomAwaited, inbox.count <= capacity / 2 {
                isRoomAwaited = false
                peer?.tell()
            }
            return .received(Chunk(count: count))
        }
        switch ending {
        case nil: return .wouldBlock
        case .finish: return .ended
        case .reset: return .failed(MemoryPairEnd.resetByPeer)
        }
    }

    public override func send(_ bytes: RawSpan) -> SendResult {
        if ending == .reset { return .failed(MemoryPairEnd.brokenPipe) }
        guard let peer, peer.isOpen else {
            return dropsAfterClose ? .sent(bytes.byteCount) : .failed(MemoryPairEnd.brokenPipe)
        }
        let count = min(room, bytes.byteCount)
        if count < bytes.byteCount { peer.isRoomAwaited = true }
        guard count > 0 else { return .wouldBlock }
        peer.inbox.append(bytes.extracting(first: count), of: loop)
        peer.tell()
        return .sent(count)
    }

    public override func shutdownWrite() { end(.finish) }

    public override func close() { leave(inbox.isEmpty ? .finish : .reset) }

    public override func reset() { leave(.reset) }

    private func end(_ ending: Ending) {
        guard let peer, peer.ending == nil || ending == .reset else { return }
        peer.ending = ending
        peer.tell()
    }

    private func leave(_ ending: Ending) {
        isOpen = false
        end(ending)
        inbox.removeAll(of: loop)
        loop.deferRelease(self)
        // The peer learns that this end is gone.
        peer?.tell()
        if let peer, !peer.isOpen {
            peer.peer = nil
            self.peer = nil
        }
    }

    public override func receivable() -> Int { inbox.count }

    public override func unacknowledged() -> Int { peer.map { $0.isOpen ? $0.inbox.count : 0 } ?? 0 }

    public override func failure() -> SystemError? {
        ending == .reset && inbox.isEmpty ? MemoryPairEnd.resetByPeer : nil
    }

    public override var hasPeerClosed: Bool { peer.map { !$0.isOpen } ?? true }

    public override func setReceiveBuffer(_ bytes: Int) { capacity = min(max(1, bytes), MemoryPairEnd.capacity) }

    public override var localAddress: SocketAddress? { addresses.local }
    public override var peerAddress: SocketAddress? { addresses.peer }

    private static let resetByPeer = SystemError(call: "recv", code: SystemError.connectionReset)
    private static let brokenPipe = SystemError(call: "send", code: SystemError.brokenPipe)
}
