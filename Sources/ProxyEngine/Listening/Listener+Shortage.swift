import EventLoop
import FaultPlan
import OperatingSystem
import Units

/// Shortage of descriptors or connections: connections whose peers are gone are released for new clients, which wait in
/// the kernel's queue meanwhile.
extension Listener {
    /// A search of all loops for connections to release.
    struct Shortage {
        /// What is short.
        enum Resource {
            /// accept(2) or socket(2) failed.
            case descriptors(SystemError)
            /// The limit of connections is reached.
            case connections
        }

        let resource: Resource
        /// The number of loops that have not answered.
        var pending = 0
    }

    /// Has every loop release connections, and accepts none until one has.
    func relieve(_ resource: Shortage.Resource, _ sockets: ListeningSockets) {
        // A watched socket would call again at once.
        sockets.unwatch()
        shortage = Shortage(resource: resource)
        // In case no loop answers.
        retry()
        let (loop, resident) = (loop, LoopBound(self, on: loop))
        let isOfDescriptors = if case .descriptors = resource { true } else { false }
        for shard in shards {
            let isPosted = shard.loop.post {
                let released = isOfDescriptors ? shard.loop.relieveShortage() : shard.value.releaseDescriptors()
                loop.post { resident.value.noteReleased(released) }
            }
            if isPosted { shortage?.pending += 1 }
        }
    }

    /// Pauses accepting after a dial has failed with EMFILE or ENFILE.
    func awaitDescriptors() {
        guard let sockets, shortage == nil else { return }
        relieve(.descriptors(SystemError(call: "socket", code: SystemError.outOfDescriptors)), sockets)
    }

    private func noteReleased(_ count: Int) {
        guard let sockets, var shortage else { return }
        shortage.pending -= 1
        self.shortage = shortage
        if count > 0 {
            acceptAgain(sockets)
        } else if shortage.pending == 0 {
            if case .descriptors(let error) = shortage.resource {
                if !mustListen { context.tell(.cannotAccept(error)) }
            } else {
                exhaustedUntil = loop.now.advanced(byNanoseconds: Listener.retryPause)
                acceptAgain(sockets)
            }
        }
    }

    private func acceptAgain(_ sockets: ListeningSockets) {
        shortage = nil
        cancelRetry()
        if mustListen { listenAgain(sockets) } else if admission == .open, !isFull { sockets.watch() }
        admitWaiting()
    }

    var isAtLimit: Bool {
        context.openConnections.load(ordering: .relaxed) >= context.configuration.connectionLimit
    }
}
