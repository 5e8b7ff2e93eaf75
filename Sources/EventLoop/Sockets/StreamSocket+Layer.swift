import CLibevent

/// A socket whose bytes a `SocketLayer` carries.
extension StreamSocket {
    /// Makes an open socket over a layer.
    public convenience init(over layer: SocketLayer) {
        self.init(closedOn: layer.loop)
        open(over: layer)
    }

    /// Opens a closed socket over a layer of its loop.
    public func open(over layer: SocketLayer) {
        loop.preconditionOnLoop()
        precondition(!isOpen, "a socket is closed before it is opened anew")
        precondition(layer.loop === loop && layer.socket == nil, "a layer has one socket of its loop")
        take(layer)
        layer.carried = self
    }

    /// Reports a change of the layer, and calls the handler.
    public func layerChanged(isReadable: Bool, isWritable: Bool, hasPeerEnded: Bool) {
        guard isLayered else { return }
        var what: Int32 = 0
        if isReadable { what |= EV_READ }
        if isWritable { what |= EV_WRITE }
        if hasPeerEnded { what |= EV_CLOSED }
        fire(what)
    }

    /// Receives from the layer.
    @inline(never)
    func receive(limit: Int, behind offset: Int, from layer: SocketLayer) -> ReceiveResult {
        let result = layer.receive(limit: limit, behind: offset)
        if case .wouldBlock = result { noteEmpty() }
        return result
    }

    /// Sends `length` bytes of the loop's scratch buffer at `offset` by the layer.
    @inline(never)
    func send(from offset: Int, length: Int, by layer: SocketLayer) -> SendResult {
        let bytes = UnsafeRawBufferPointer(start: loop.scratch + offset, count: length)
        return noted(layer.send(bytes.bytes), of: length)
    }

    /// Sends bytes that lie in several places by the layer.
    func send(_ vectors: UnsafeMutableBufferPointer<iovec>, used: Int, by layer: SocketLayer) -> SendResult {
        var total = 0
        for vector in vectors.prefix(used) {
            let bytes = UnsafeRawBufferPointer(start: vector.iov_base, count: vector.iov_len)
            let result = noted(layer.send(bytes.bytes), of: vector.iov_len)
            guard case .sent(let count) = result else { return total > 0 ? .sent(total) : result }
            total += count
            if count < vector.iov_len { break }
        }
        return .sent(total)
    }

    /// Sends bytes that lie anywhere.
    public func send(_ bytes: RawSpan) -> SendResult {
        loop.preconditionOnLoop()
        precondition(!bytes.isEmpty, "a send of nothing tells nothing of the socket")
        if let layer { return noted(layer.send(bytes), of: bytes.byteCount) }
        return bytes.withUnsafeBytes { send($0) }
    }
}
