import EventLoop
import FaultPlan
import OperatingSystem
import Units

/// Dialing the addresses of the upstream.
extension Connection {
    /// Dials the address at an index, after one that failed with `earlier`, if there was one.
    func dial(_ address: Int, after earlier: SystemError? = nil) {
        // The policy of a connection that had no server begins anew.
        drain = nil
        if tls?.layer == .wire, let content = tls?.contentPlan {
            tls?.contentPlan = nil
            return openContent(content)
        }
        let addresses = dialAddresses
        state.dialBegan(of: addresses.count, timeout: shard.context.configuration.connectTimeout, at: loop.now)
        do throws(SystemError) {
            if let connected = tls?.takeConnected() {
                try secureServer(over: connected, named: tls?.host ?? "")
            } else if addresses.isEmpty {
                throw shard.context.upstreamFailure ?? .connectTimeOut
            } else {
                // The name may have been looked up again since the last address.
                try connectServer(to: addresses[min(address, addresses.count - 1)])
            }
            server.watch(by: self, tag: Tag.server)
            shard.connectWatch.add(self)
        } catch {
            let dialed = addresses.isEmpty ? nil : addresses[min(address, addresses.count - 1)]
            dialFailed(dialed.map { error.reported(for: $0, after: earlier) } ?? error)
        }
    }

    /// The addresses to dial, in order.
    private var dialAddresses: [SocketAddress] { preamble?.addresses ?? shard.context.upstreamAddresses }

    private func connectServer(to address: SocketAddress) throws(SystemError) {
        guard let upstream = shard.context.configuration.destination.upstream, upstream.usesTLS else {
            return try connect(server, to: address)
        }
        let below = StreamSocket(closedOn: loop)
        try connect(below, to: address)
        try secureServer(over: below, named: upstream.host)
    }

    /// Starts connecting a socket to the server's address.
    func connect(_ socket: StreamSocket, to address: SocketAddress) throws(SystemError) {
        try connectUncaptured(socket, to: address)
        let upstream = shard.context.configuration.destination.upstream
        capture?.dialed(socket, to: address, host: host?.host ?? upstream?.host)
    }

    private func connectUncaptured(_ socket: StreamSocket, to address: SocketAddress) throws(SystemError) {
        guard let forwardingPath, shard.context.loopDetection.keepsFlows.load(ordering: .relaxed) else {
            return try socket.connect(to: address, receiveBuffer: serverWindow.map { Int($0) })
        }
        try forwardingPath.follow { () throws(SystemError) in
            try socket.connect(to: address, receiveBuffer: serverWindow.map { Int($0) })
            return socket.localAddress.map { Flow(from: $0, to: address) }
        }
    }

    func finishDialing() {
        if let error = server.connectionError() { return dialFailed(error) }
        shard.connectWatch.remove(self)
        guard let preamble else {
            guard acceptClient() else { return }
            perform(state.connected(at: loop.now))
            return flow(at: loop.now)
        }
        // Bytes flow after the reply, or on another socket.
        if let local = preamble.client {
            switch local.connect() {
            case .connected(let socket):
                // First, because it waits.
                local.end(.connected)
                guard client.open(socket) else { return abandon(reset: true) }
            case .connecting:
                // The time limit of dialing holds for it as well.
                shard.connectWatch.add(self)
                return setTimer(to: preamble.nextHandOver(at: loop.now))
            case .gone:
                return abandon(reset: true)
            case .failed(let error):
                shard.context.noteShortage()
                server.close()
                return perform(state.dialFailed(.refused, of: 1, at: loop.now), error: error)
            }
            awaitsClient = false
            preamble.handOverBegan = nil
            capture?.accepted(client)
            client.watch(by: self, tag: Tag.client)
        } else {
            preamble.handshake.succeed()
        }
        perform(state.connected(at: loop.now))
    }

    /// Asks again whether a client of this process is connected.
    func handOverAgain() {
        if preamble?.handOverBegan != nil, state.isDialing { finishDialing() }
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

extension SystemError {
    /// The error to report when dialing `address` has failed: `earlier`, that of the address before, if the machine has
    /// switched off the family of this one, which says nothing about the server.
    func reported(for address: SocketAddress, after earlier: SystemError?) -> SystemError {
        isFamilyMissing(for: address) ? earlier ?? self : self
    }
}
