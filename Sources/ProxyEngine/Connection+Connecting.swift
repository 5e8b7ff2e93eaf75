import EventLoop
import FaultPlan
import Units

/// From the first address of the upstream to one that answers.
extension Connection {
    func beginConnecting(at now: Moment) {
        connectDeadline = now + shard.context.configuration.connectTimeout
        connect(to: 0)
    }

    private func connect(to address: Int) {
        let addresses = shard.context.upstreamAddresses
        let now = loop.now
        let share = (connectDeadline - now).nanoseconds / Int64(addresses.count - address)
        attemptDeadline = now.advanced(byNanoseconds: share)
        do {
            try server.connect(to: addresses[address], receiveBuffer: circumstances.serverWindow)
            server.watch(by: self, tag: Tag.server)
            state = .connecting(address: address)
            shard.connectWatch.add(self)
            setTimer(to: circumstances.nextInterruption(after: now))
        } catch {
            failToConnect(address, error)
        }
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
