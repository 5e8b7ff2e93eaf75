import Glibc
import OperatingSystem
import Synchronization

/// An accepted connection in transit to its loop. Closes itself if it is never taken.
public final class DetachedSocket: Sendable {
    private let descriptor: Atomic<Int32>
    private let system: SystemCalls
    /// Whether it is a Unix-domain socket.
    public let isUnix: Bool

    /// Takes over a non-blocking TCP socket that is connected to `peer`.
    package convenience init(_ descriptor: Int32, connectedTo peer: SocketAddress) {
        SystemSocket.setNoDelay(descriptor)
        // As a listener's clients, which have it from there.
        CongestionControl.endPacing(descriptor, for: peer)
        self.init(descriptor, SystemCalls(nil), isUnix: false)
    }

    /// None: it has been taken.
    package static let none = DetachedSocket(-1, SystemCalls(nil), isUnix: true)

    init(_ descriptor: Int32, _ system: SystemCalls, isUnix: Bool) {
        self.system = system
        self.descriptor = Atomic(descriptor)
        self.isUnix = isUnix
    }

    deinit {
        let remaining = take()
        if remaining >= 0 { system.close(remaining) }
    }

    /// Takes the descriptor; −1 if it has been taken already.
    func take() -> Int32 { descriptor.exchange(-1, ordering: .acquiringAndReleasing) }

    /// The address of the peer; `nil` when the connection is over, the socket has been taken, or is a Unix-domain socket,
    /// whose clients have no address.
    public var peer: SocketAddress? {
        let descriptor = descriptor.load(ordering: .acquiring)
        return descriptor >= 0 ? system.peerAddress(of: descriptor) : nil
    }

    /// The address on which it was accepted; `nil` when the socket has been taken.
    public var local: SocketAddress? {
        let descriptor = descriptor.load(ordering: .acquiring)
        return descriptor >= 0 ? system.localAddress(of: descriptor) : nil
    }

    /// Ends the connection with a reset.
    public func reset() {
        let descriptor = take()
        guard descriptor >= 0 else { return }
        system.setLingerZero(descriptor)
        system.close(descriptor)
    }
}
