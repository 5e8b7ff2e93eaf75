import EventLoop
import Glibc
import Units

/// The calls of the proxy.
extension SimulatedNetwork {
    private func failed(_ code: Int32) -> Int {
        errno = code
        return -1
    }

    // MARK: Connections

    func makeSocketNow() -> Int32 {
        count()
        if refusesDescriptor() { return -1 }
        let end = makeEnd()
        end.descriptor = openDescriptor(.socket(end))
        return end.descriptor
    }

    func connectNow(_ descriptor: Int32, to address: SocketAddress) -> Int32 {
        guard let socket = socket(descriptor, "connect") else { return -1 }
        socket.state = .connecting
        socket.ports = (nextPort(), address.port)
        trace?("connect \(descriptor)")
        // Some are never answered.
        if !dice.once(in: disturbances.lostConnect) {
            agenda.add(.answerConnect(socket), at: moment.advanced(byNanoseconds: delay()))
        }
        return Int32(failed(EINPROGRESS))
    }

    func answerConnect(_ socket: SimulatedSocket) {
        guard !socket.isClosed, case .connecting = socket.state else { return }
        guard !dice.once(in: disturbances.refusedConnect) else {
            (socket.state, socket.error) = (.dead, ECONNREFUSED)
            return noteChange(socket)
        }
        let listener = listeners[socket.ports.other]
        guard listener?.listening ?? .accepting == .accepting else {
            // One that doesn't answer is given up.
            guard listener?.listening == .refusing else { return }
            (socket.state, socket.error) = (.dead, ECONNREFUSED)
            return noteChange(socket)
        }
        let end = makeEnd()
        join(socket, end)
        if let listener {
            listener.queue.append(end)
            setPending(listener.descriptor)
        } else {
            serve(end)
        }
        noteChange(socket)
    }

    /// Joins two ends to a connection.
    func join(_ one: SimulatedSocket, _ other: SimulatedSocket) {
        (one.state, other.state) = (.connected, .connected)
        (one.peer, other.peer) = (other, one)
        other.ports = (one.ports.other, one.ports.own)
    }

    func pendingErrorNow(_ descriptor: Int32) -> Int32 {
        guard let socket = socket(descriptor, "getsockopt") else { return EBADF }
        defer { socket.error = 0 }
        return socket.error
    }

    func listenNow(on address: SocketAddress) -> Int32 {
        count()
        let listener = SimulatedListener(port: address.port == 0 ? nextPort() : address.port)
        guard listeners[listener.port] == nil else { return Int32(failed(EADDRINUSE)) }
        listeners[listener.port] = listener
        listener.descriptor = openDescriptor(.listener(listener))
        return listener.descriptor
    }

    func acceptNow(_ descriptor: Int32) -> Int32 {
        count()
        guard case .listener(let listener) = object(descriptor) else {
            note("accept on descriptor \(descriptor), which doesn't listen")
            return Int32(failed(EBADF))
        }
        if dice.once(in: disturbances.interrupted) { return Int32(failed(EINTR)) }
        guard listener.listening != .refusing else { return Int32(failed(EINVAL)) }
        guard !listener.queue.isEmpty, listener.listening == .accepting else { return Int32(failed(EAGAIN)) }
        if dice.once(in: disturbances.failedAccept) { return Int32(failed(dice.pick([ENFILE, ENOBUFS, ENOMEM]))) }
        if refusesDescriptor() { return -1 }
        let end = listener.queue.removeFirst()
        if dice.once(in: disturbances.abortedAccept) {
            closeEnd(end)
            return Int32(failed(ECONNABORTED))
        }
        end.descriptor = openDescriptor(.socket(end))
        trace?("accept \(end.descriptor)")
        return end.descriptor
    }

    func setListeningNow(_ descriptor: Int32, _ listening: Listening) {
        count()
        guard case .listener(let listener) = object(descriptor) else {
            return note("listen on descriptor \(descriptor), which isn't open")
        }
        trace?("listener: \(listening)")
        listener.listening = listening
        guard listening == .refusing else { return }
        for end in listener.queue { reset(end) }
        listener.queue = []
    }

    /// A client connects; its end, or `nil` where it is refused, or nobody answers.
    func connectClient(to port: UInt16) -> SimulatedSocket? {
        guard let listener = listeners[port], listener.listening == .accepting else { return nil }
        let (client, end) = (makeEnd(), makeEnd())
        client.ports = (nextPort(), port)
        join(client, end)
        listener.queue.append(end)
        setPending(listener.descriptor)
        return client
    }

    // MARK: Bytes

    func receiveNow(_ socket: SimulatedSocket, _ bytes: UnsafeMutableRawPointer, _ limit: Int, isProxy: Bool) -> Int {
        if isProxy, dice.once(in: disturbances.interrupted) { return failed(EINTR) }
        if !socket.inbox.isEmpty {
            var length = min(limit, socket.inbox.count)
            if isProxy, dice.once(in: disturbances.shortReceive) { length = dice.number(1...length) }
            socket.inbox.remove(length, to: bytes)
            hasTaken(socket)
            if isProxy { trace?("recv \(socket.descriptor): \(length) of \(limit)") }
            return length
        }
        return emptyHanded(socket)
    }

    /// What a receive says of an empty inbox.
    private func emptyHanded(_ socket: SimulatedSocket) -> Int {
        if socket.error != 0 {
            defer { socket.error = 0 }
            return failed(socket.error)
        }
        if socket.hasPeerEnded { return 0 }
        switch socket.state {
        case .dead: return 0
        case .connected: return failed(EAGAIN)
        case .new, .connecting: return failed(socket.state == .new ? ENOTCONN : EAGAIN)
        }
    }

    /// The inbox has room again, so what is in flight goes on.
    private func hasTaken(_ socket: SimulatedSocket) {
        if let peer = socket.peer { scheduleArrival(of: peer) }
    }

    func sendNow(_ socket: SimulatedSocket, _ bytes: UnsafeRawBufferPointer, isProxy: Bool) -> Int {
        if let code = refusal(socket, isProxy: isProxy) { return failed(code) }
        var length = min(bytes.count, socket.flight.room)
        if isProxy, length > 0, dice.once(in: disturbances.shortSend) {
            length = dice.number(1...length)
            // The system tells when there is memory again.
            if length < bytes.count { promiseRoom(socket) }
        }
        if length < bytes.count { socket.wantsRoom = true }
        guard length > 0 else { return failed(EAGAIN) }
        socket.flight.append(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
        scheduleArrival(of: socket)
        if isProxy { trace?("send \(socket.descriptor): \(length) of \(bytes.count)") }
        return length
    }

    /// Why a send moves nothing.
    private func refusal(_ socket: SimulatedSocket, isProxy: Bool) -> Int32? {
        if socket.error != 0 {
            defer { socket.error = 0 }
            return socket.error
        }
        switch socket.state {
        case .dead: return EPIPE
        case .new: return ENOTCONN
        case .connecting: return EAGAIN
        case .connected: break
        }
        if socket.hasSentEnd { return EPIPE }
        guard isProxy else { return nil }
        if dice.once(in: disturbances.interrupted) { return EINTR }
        if dice.once(in: disturbances.noBuffers) { return ENOBUFS }
        if dice.once(in: disturbances.refusedSend) {
            promiseRoom(socket)
            return EAGAIN
        }
        return nil
    }

    private func promiseRoom(_ socket: SimulatedSocket) {
        agenda.add(.makeRoom(socket), at: moment.advanced(byNanoseconds: delay()))
    }

    func spliceNow(_ source: Int32, _ sink: Int32, _ limit: Int) -> Int {
        count()
        switch (object(source), object(sink)) {
        case (.socket(let socket), .pipeInput(let pipe)):
            if dice.once(in: disturbances.noSplice) { return failed(EINVAL) }
            if dice.once(in: disturbances.interrupted) { return failed(EINTR) }
            guard !socket.inbox.isEmpty else { return emptyHanded(socket) }
            var length = min(limit, socket.inbox.count, pipe.bytes.room)
            guard length > 0 else { return failed(EAGAIN) }
            if dice.once(in: disturbances.shortSplice) { length = dice.number(1...length) }
            socket.inbox.move(length, into: &pipe.bytes)
            hasTaken(socket)
            trace?("splice \(source) to pipe: \(length) of \(limit)")
            return length
        case (.pipeOutput(let pipe), .socket(let socket)):
            if let code = refusal(socket, isProxy: true) { return failed(code) }
            guard !pipe.bytes.isEmpty else { return failed(EAGAIN) }
            var length = min(limit, pipe.bytes.count, socket.flight.room)
            if length < min(limit, pipe.bytes.count) { socket.wantsRoom = true }
            guard length > 0 else { return failed(EAGAIN) }
            // It may return early, with room left, and then nothing tells of the room.
            if dice.once(in: disturbances.shortSplice) { length = dice.number(1...length) }
            pipe.bytes.move(length, into: &socket.flight)
            scheduleArrival(of: socket)
            trace?("splice pipe to \(sink): \(length) of \(limit)")
            return length
        default:
            note("splice from \(source) to \(sink), which are no socket and pipe")
            return failed(EBADF)
        }
    }

    // MARK: The way between

    private func delay() -> Int64 { Int64(dice.number(disturbances.latency)) }

    func scheduleArrival(of socket: SimulatedSocket) {
        let hasMore = !socket.flight.isEmpty || socket.hasSentEnd && !socket.hasEndArrived
        guard hasMore, !socket.isDeliveryDue else { return }
        // Nothing arrives where there is no room; the receiver says when there is.
        if !socket.flight.isEmpty, let peer = socket.peer, !peer.isClosed, peer.inbox.room == 0 { return }
        socket.isDeliveryDue = true
        agenda.add(.arrive(socket), at: moment.advanced(byNanoseconds: delay()))
    }

    /// What a socket has in flight arrives: all, or a part, as far as the receiver has room.
    func arrive(_ socket: SimulatedSocket) {
        socket.isDeliveryDue = false
        guard case .connected = socket.state, let peer = socket.peer else { return }
        if !socket.flight.isEmpty {
            guard !peer.isClosed else {
                // Nobody receives any more: the sender is reset.
                die(socket, ECONNRESET)
                return
            }
            var length = min(socket.flight.count, peer.inbox.room)
            if dice.once(in: 3), length > 1 { length = dice.number(1...length) }
            if length > 0 {
                socket.flight.move(length, into: &peer.inbox)
                noteChange(peer)
                if socket.wantsRoom, socket.hasNoticeableRoom {
                    socket.wantsRoom = false
                    noteChange(socket)
                }
            }
        }
        if socket.flight.isEmpty, socket.hasSentEnd, !socket.hasEndArrived {
            socket.hasEndArrived = true
            peer.hasPeerEnded = true
            if !peer.isClosed { noteChange(peer) }
        }
        scheduleArrival(of: socket)
    }

    func makeRoom(_ socket: SimulatedSocket) {
        guard !socket.isClosed, case .connected = socket.state else { return }
        if socket.hasNoticeableRoom { noteChange(socket) } else { socket.wantsRoom = true }
    }

    func shutdown(_ socket: SimulatedSocket) {
        guard case .connected = socket.state, !socket.hasSentEnd else { return }
        socket.hasSentEnd = true
        scheduleArrival(of: socket)
    }

    /// A process closes an end: with a reset, if that was asked for or something has been left unread, otherwise behind
    /// what was sent.
    func closeEnd(_ socket: SimulatedSocket) {
        guard !socket.isClosed else { return }
        socket.isClosed = true
        socket.closedAt = moment
        socket.descriptor = -1
        guard case .connected = socket.state else {
            socket.state = .dead
            return
        }
        if socket.closesByReset || !socket.inbox.isEmpty {
            reset(socket)
        } else {
            shutdown(socket)
        }
    }

    /// Probes the peer again and again: one whose process closed it 60 s ago is forgotten, and answers by a reset.
    func probe(_ socket: SimulatedSocket, every pause: Int64) {
        agenda.add(
            .run { [self] in
                guard !socket.isClosed, case .connected = socket.state, let peer = socket.peer else { return }
                if peer.isClosed, moment - peer.closedAt >= .seconds(60) {
                    die(socket, ECONNRESET)
                } else {
                    probe(socket, every: pause)
                }
            },
            at: moment.advanced(byNanoseconds: pause)
        )
    }

    /// Sends a reset: what is in flight from here is lost.
    func reset(_ socket: SimulatedSocket) {
        let peer = socket.peer
        socket.state = .dead
        socket.flight.removeAll()
        guard let peer, case .connected = peer.state else { return }
        agenda.add(.run { [self] in die(peer, ECONNRESET) }, at: moment.advanced(byNanoseconds: delay()))
    }

    /// A reset has come: what is in flight from here is lost, and what is in the inbox stays.
    func die(_ socket: SimulatedSocket, _ code: Int32) {
        guard case .connected = socket.state else { return }
        socket.state = .dead
        socket.flight.removeAll()
        socket.error = socket.hasPeerEnded ? EPIPE : code
        socket.hasPeerEnded = true
        if !socket.isClosed { noteChange(socket) }
    }
}
