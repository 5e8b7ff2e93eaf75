import EventLoop
import Synchronization

/// The door to a proxy's listener, from every loop.
final class ListenerHandle: Sendable {
    /// What a listener is told.
    enum Message: Sendable {
        /// A connection has ended while clients wait for room.
        case roomIsFree
        /// A fault has acted that a fault of the listener comes after.
        case admissionMayChange
        /// A dial has failed with EMFILE or ENFILE.
        case descriptorsAreShort
        /// The client of a connection has named a host.
        case plan(PlanRequest)
    }

    private let listener = Mutex<LoopBound<Listener>?>(nil)

    /// Messages go to `listener` from here on; to nobody with `nil`.
    func lead(to listener: LoopBound<Listener>?) { self.listener.withLock { $0 = listener } }

    /// Has the listener follow `message` on its loop. Nothing happens once it is closed.
    func post(_ message: Message) {
        guard let listener = listener.withLock({ $0 }) else { return }
        let follow: @Sendable () -> Void = { listener.value.handle(message) }
        if case .plan = message {
            listener.loop.postBeyondLimit(follow)
        } else {
            _ = listener.loop.post(follow)
        }
    }
}

extension Listener {
    fileprivate func handle(_ message: ListenerHandle.Message) {
        switch message {
        case .roomIsFree: lookForRoom()
        case .admissionMayChange: followOutages()
        case .descriptorsAreShort: awaitDescriptors()
        case .plan(let request): makePlan(request)
        }
    }
}
