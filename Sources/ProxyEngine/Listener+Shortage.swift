import EventLoop
import FaultPlan
import Units

/// Descriptors, or connections, that run short: connections whose ends are gone make room for new clients, which wait in
/// the queue of the listening socket meanwhile.
extension Listener {
    /// A search of all loops for connections to release.
    struct Shortage {
        /// Why a connection can't be accepted; `nil` where the limit of connections is reached.
        let error: SystemError?
        /// The loops that haven't answered.
        var pending = 0

        init(ofDescriptors error: SystemError?) {
            self.error = error
        }
    }

    /// Has every loop release connections, and accepts none before one has.
    func relieve(_ shortage: Shortage, _ sockets: ListeningSockets) {
        // The socket would call again at once; the clients can wait in its queue instead.
        sockets.unwatch()
        self.shortage = shortage
        // Whatever becomes of the answers.
        retry()
        let (loop, resident) = (loop, LoopBound(self, on: loop))
        let isOfDescriptors = shortage.error != nil
        for shard in shards {
            let isPosted = shard.loop.post {
                let released = isOfDescriptors ? shard.loop.relieveShortage() : shard.value.releaseDescriptors()
                loop.post { resident.value.noteReleased(released) }
            }
            if isPosted { self.shortage?.pending += 1 }
        }
    }

    /// A server can't be connected to for want of descriptors, so no further client is accepted for now.
    func awaitDescriptors() {
        guard let sockets, shortage == nil else { return }
        relieve(Shortage(ofDescriptors: SystemError(call: "socket", code: SystemError.outOfDescriptors)), sockets)
    }

    /// A loop has released so many connections.
    private func noteReleased(_ count: Int) {
        guard let sockets, var shortage else { return }
        shortage.pending -= 1
        self.shortage = shortage
        if count > 0 {
            acceptAgain(sockets)
        } else if shortage.pending == 0 {
            if let error = shortage.error {
                context.tell(.cannotAccept(error))
            } else {
                exhaustedUntil = loop.now.advanced(byNanoseconds: Listener.retryPause)
                acceptAgain(sockets)
            }
        }
    }

    private func acceptAgain(_ sockets: ListeningSockets) {
        shortage = nil
        cancelRetry()
        if admission == .open, !isFull { sockets.watch() }
    }

    /// Whether as many connections are open as may be.
    var isAtLimit: Bool {
        context.openConnections.load(ordering: .relaxed) >= context.configuration.connectionLimit
    }
}
