import EventLoop
import FaultPlan
import Units

/// From the first address of the upstream to one that answers.
extension Connection {
    /// The pause before another try where there was no descriptor for the socket to the server: 20 ms.
    private static let shortagePause: Int64 = 20_000_000
    /// The same where the queue of a Unix-domain socket was full, which TCP's handshake waits for: 5 ms.
    private static let queuePause: Int64 = 5_000_000

    func beginConnecting(at now: Moment) {
        // A second time when descriptors were short the first time.
        if connectDeadline == .zero { connectDeadline = now + shard.context.configuration.connectTimeout }
        connect(to: 0)
    }

    private func connect(to address: Int) {
        let addresses = shard.context.upstreamAddresses
        let now = loop.now
        let share = (connectDeadline - now).nanoseconds / Int64(addresses.count - address)
        attemptDeadline = now.advanced(byNanoseconds: share)
        do {
            try connectServer(to: addresses[address])
            server.watch(by: self, tag: Tag.server)
            state = .connecting(address: address)
            shard.connectWatch.add(self)
            setTimer(to: circumstances.nextTermination(after: now))
        } catch {
            if error.isOutOfDescriptors, now < connectDeadline {
                shard.context.noteShortage()
                connectAgain(after: Connection.shortagePause, now)
            } else if error.isQueueFull, now < connectDeadline {
                connectAgain(after: Connection.queuePause, now)
            } else {
                failToConnect(address, error)
            }
        }
    }

    private func connectServer(to address: SocketAddress) throws(SystemError) {
        guard let trail, shard.context.duties.keepsFlows.load(ordering: .relaxed) else {
            return try server.connect(to: address, receiveBuffer: circumstances.serverWindow)
        }
        try trail.follow { () throws(SystemError) in
            try server.connect(to: address, receiveBuffer: circumstances.serverWindow)
            return server.localAddress.map { Flow(from: $0, to: address) }
        }
    }

    /// Tries again when connections whose ends are gone may have been released, or the server may have accepted one.
    private func connectAgain(after pause: Int64, _ now: Moment) {
        let next = min(now.advanced(byNanoseconds: pause), connectDeadline)
        state = .delayed(until: next)
        setTimer(to: min(next, circumstances.nextTermination(after: now)))
    }

    func finishConnecting(_ address: Int) {
        if let error = server.connectionError() {
            failToConnect(address, error)
            return
        }
        shard.connectWatch.remove(self)
        setTimer(to: .distantFuture)
        state = .flowing
        flow()
    }

    /// The time to connect may have passed.
    func connectTimePassed(_ now: Moment) {
        guard case .connecting(let address) = state, now >= attemptDeadline else { return }
        failToConnect(address, SystemError(call: "connect", code: SystemError.timedOut))
    }

    private func failToConnect(_ address: Int, _ error: SystemError) {
        server.close()
        if address + 1 < shard.context.upstreamAddresses.count {
            connect(to: address + 1)
            return
        }
        giveUp(error)
    }

    func giveUp(_ error: SystemError) {
        shard.context.tell(.upstreamUnreachable(shard.context.configuration.upstream, error))
        client.reset()
        finish()
    }
}
