import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import Synchronization

/// A client in this process, which names its target without a handshake, and whose socket is connected once the target is.
package final class LocalClient: Sendable {
    /// The outcome of a connection attempt.
    package enum Outcome: Hashable, Sendable {
        /// It flows.
        case connected
        /// The target can't be reached, for this errno value.
        case failed(Int32)
        /// The proxy has ended it: by RST with `reset`, else by FIN.
        case ended(reset: Bool)
    }

    /// How far the client's socket is when the target is connected.
    package enum HandOver: Sendable {
        /// It is connected to the proxy's, which this is.
        case connected(DetachedSocket)
        /// It gets connected: ask again.
        case connecting
        /// The client is gone.
        case gone
        /// The proxy has no socket for it.
        case failed(SystemError)
    }

    /// The address that the proxy dials.
    package let target: SocketAddress
    /// The client's own address.
    let address: SocketAddress
    /// The client's program, if it is known.
    package let program: Program?
    private let makeSocket: @Sendable () -> HandOver
    private let tell: @Sendable (Outcome) -> Void
    /// Has a socket that is connecting meet none of the proxy.
    let withdraw: @Sendable () -> Void
    private let isOver = Atomic<Bool>(false)
    /// The numbers of its connection: among all, and among those to its target; `nil` while none was accepted.
    private let accepted = Mutex<(connection: UInt64, atTarget: UInt64)?>(nil)
    /// The connection that serves it.
    private let connection = Mutex<LoopBound<Connection>?>(nil)

    /// A client at `address` that wants to be connected to `target`, for `program`.
    ///
    /// - Parameters:
    ///   - connect: connects the client's socket when the target is connected. Called on any loop, again while the outcome is
    ///     `.connecting`.
    ///   - withdraw: called if the client's socket is never to be connected, when the outcome was `.connecting`.
    ///   - ended: called with the outcome, once at most, on any loop.
    package init(
        at address: SocketAddress,
        to target: SocketAddress,
        for program: Program? = nil,
        connect: @escaping @Sendable () -> HandOver,
        withdraw: @escaping @Sendable () -> Void,
        ended: @escaping @Sendable (Outcome) -> Void
    ) {
        (self.address, self.target, self.program) = (address, target, program)
        (makeSocket, self.withdraw, tell) = (connect, withdraw, ended)
    }

    /// Cancels the connection; `ended` isn't called.
    package func cancel() {
        isOver.store(true, ordering: .sequentiallyConsistent)
        guard let connection = connection.withLock({ $0.take() }) else { return }
        connection.loop.postBeyondLimit { connection.value.localClientIsGone() }
    }

    /// The numbers of its connection, from 1: among all, and among those to its target; `nil` if it wasn't accepted.
    package var numbers: (connection: UInt64, atTarget: UInt64)? { accepted.withLock { $0 } }

    func noteNumbers(of plan: ConnectionPlan) {
        accepted.withLock { $0 = (plan.ordinal, plan.numberAtTarget ?? plan.ordinal) }
    }

    /// Is served by a connection from now on; returns `false` if it was given up meanwhile.
    func begin(by connection: Connection) -> Bool {
        self.connection.withLock { $0 = LoopBound(connection, on: connection.loop) }
        return !isOver.load(ordering: .sequentiallyConsistent)
    }

    /// Whether it was given up, or has an outcome.
    var hasEnded: Bool { isOver.load(ordering: .relaxed) }

    func connect() -> HandOver { hasEnded ? .gone : makeSocket() }

    /// Ends it as one that the proxy refuses.
    package func refuse() { end(.ended(reset: true)) }

    /// Tells the outcome, if there is none yet.
    func end(_ outcome: Outcome) {
        connection.withLock { $0 = nil }
        if !isOver.exchange(true, ordering: .relaxed) { tell(outcome) }
    }
}

extension Proxy {
    /// The loop on which clients of this process are admitted.
    package var admissionLoop: EventLoop { listener.loop }

    /// The name in the journal.
    package var name: String { configuration.name }

    /// Whether a fault depends on a client's program. To be called on `admissionLoop`.
    package var asksForProgram: Bool { listener.value.plan.asksForProgram }

    /// Accepts a client of this process, when the proxy accepts clients. To be called on `admissionLoop`.
    package func admit(_ client: LocalClient) { listener.value.admit(client) }
}
