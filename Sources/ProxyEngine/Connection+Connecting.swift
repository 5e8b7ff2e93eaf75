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
            let server = try StreamSocket(
                connectingTo: addresses[address],
                receiveBuffer: circumstances?.serverWindow,
                on: loop
            )
            server.watch(by: self, tag: Tag.server)
            state = .connecting(server: server, address: address)
            shard.connectWatch.add(self)
            if let circumstances { setTimer(to: circumstances.nextInterruption(after: now)) }
        } catch {
            failToConnect(nil, address, error)
        }
    }

    func finishConnecting(_ server: StreamSocket, _ address: Int) {
        if let error = server.connectionError() {
            failToConnect(server, address, error)
            return
        }
        shard.connectWatch.remove(self)
        timer?.cancel()
        state = .flowing(server: server)
        run(server)
    }

    /// The time to connect may have passed.
    func connectTimePassed(_ now: Moment) {
        guard case .connecting(let server, let address) = state, now >= attemptDeadline else { return }
        failToConnect(server, address, SystemError(call: "connect", code: SystemError.timedOut))
    }

    private func failToConnect(_ server: StreamSocket?, _ address: Int, _ error: SystemError) {
        server?.close()
        if let server { loop.bury(server) }
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
