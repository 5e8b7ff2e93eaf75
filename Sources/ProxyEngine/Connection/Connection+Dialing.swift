import EventLoop
import FaultPlan
import OperatingSystem
import Units

/// Dialing the addresses of the upstream.
extension Connection {
    func dial(_ address: Int) {
        // The policy of a connection that had no server begins anew.
        drain = nil
        let addresses = dialAddresses
        state.dialBegan(of: addresses.count, timeout: shard.context.configuration.connectTimeout, at: loop.now)
        if addresses.isEmpty {
            return dialFailed(shard.context.upstreamFailure ?? .connectTimeOut)
        }
        do {
            // The name may have been looked up again since the last address.
            try connectServer(to: addresses[min(address, addresses.count - 1)])
            server.watch(by: self, tag: Tag.server)
            shard.connectWatch.add(self)
        } catch {
            dialFailed(error)
        }
    }

    /// The addresses to dial, in order.
    private var dialAddresses: [SocketAddress] { preamble?.addresses ?? shard.context.upstreamAddresses }

    private func connectServer(to address: SocketAddress) throws(SystemError) {
        guard let forwardingPath, shard.context.loopDetection.keepsFlows.load(ordering: .relaxed) else {
            return try server.connect(to: address, receiveBuffer: serverWindow.map { Int($0) })
        }
        try forwardingPath.follow { () throws(SystemError) in
            try server.connect(to: address, receiveBuffer: serverWindow.map { Int($0) })
            return server.localAddress.map { Flow(from: $0, to: address) }
        }
    }

    func finishDialing() {
        if let error = server.connectionError() { return dialFailed(error) }
        shard.connectWatch.remove(self)
        guard let preamble else {
            perform(state.connected(at: loop.now))
            return flow(at: loop.now)
        }
        // Bytes flow after the reply, or on another socket.
        if let handover = shard.context.configuration.handover {
            // Nobody else may use the proxy.
            guard let socket = client.peerAddress.flatMap(handover), client.replace(by: socket) else {
                return abandon(reset: true)
            }
            _ = preamble.handshake.takeReply()
            preamble.unsent = []
        } else {
            preamble.handshake.succeed()
        }
        perform(state.connected(at: loop.now))
    }

    /// Gives up an address that has not answered in its share of the time.
    func checkDialDeadline(_ now: Moment) {
        if state.isDialOverdue(at: now) { dialFailed(.connectTimeOut) }
    }

    private func dialFailed(_ error: SystemError) {
        server.close()
        let failure: ConnectionState.DialFailure
        if error.isOutOfDescriptors {
            shard.context.noteShortage()
            failure = .outOfDescriptors
        } else if error.isQueueFull {
            failure = .queueIsFull
        } else {
            failure = error.code == SystemError.timedOut ? .timedOut : .refused
        }
        let count = dialAddresses.count
        perform(state.dialFailed(failure, of: count, at: loop.now), error: error)
    }
}
