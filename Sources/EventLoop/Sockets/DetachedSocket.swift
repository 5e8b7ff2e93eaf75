import Glibc
import Synchronization

/// An accepted connection on its way to the loop that will own it. Closes itself if it never gets there.
public final class DetachedSocket: Sendable {
    private let descriptor: Atomic<Int32>

    init(_ descriptor: Int32) {
        self.descriptor = Atomic(descriptor)
    }

    deinit {
        let remaining = take()
        if remaining >= 0 { close(remaining) }
    }

    /// The descriptor, for its new owner; −1 when it has been taken already.
    func take() -> Int32 { descriptor.exchange(-1, ordering: .acquiringAndReleasing) }

    /// The address of the peer; `nil` when the connection is over, or the socket has been taken.
    public var peer: SocketAddress? {
        let descriptor = descriptor.load(ordering: .acquiring)
        return descriptor >= 0 ? .peer(of: descriptor) : nil
    }

    /// The address on which it was accepted; `nil` when the socket has been taken.
    public var local: SocketAddress? {
        let descriptor = descriptor.load(ordering: .acquiring)
        return descriptor >= 0 ? try? .bound(to: descriptor) : nil
    }

    /// Ends the connection with a reset.
    public func reset() {
        let descriptor = take()
        guard descriptor >= 0 else { return }
        SystemSocket.setLingerZero(descriptor)
        close(descriptor)
    }
}
