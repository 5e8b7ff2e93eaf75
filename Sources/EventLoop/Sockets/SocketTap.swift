import Glibc

/// Sees the bytes and the ends of a socket of the system as they pass it, for a capture.
///
/// Called on the socket's loop, after the system's call. Bytes of a tapped socket are never spliced.
open class SocketTap {
    /// Makes a tap that ignores everything.
    public init() {}

    /// The connection is made.
    open func connected() {}
    /// The peer's bytes have been received.
    open func received(_ bytes: Span<UInt8>) {}
    /// The system has taken bytes for the peer.
    open func sent(_ bytes: Span<UInt8>) {}
    /// The peer has ended its stream. Called again at each further receive.
    open func ended() {}
    /// The connection is broken, or wasn't made, by the error with the number `code` (errno). May be called again.
    open func failed(_ code: Int32) {}
    /// Whether an error is the peer's answer, and not this machine's.
    public static func isReset(_ code: Int32) -> Bool { code == ECONNREFUSED || code == ECONNRESET || code == EPIPE }

    /// This side has ended its stream.
    open func finished() {}
    /// This side has closed the socket, with a reset or without. Nothing follows.
    open func closed(reset: Bool) {}
}

extension StreamSocket {
    @inline(never)
    func tell(received count: Int, at offset: Int) {
        loop.withScratch(offset + count) { tap?.received($0.extracting(offset...)) }
    }

    @inline(never)
    func tell(_ result: SendResult, of bytes: UnsafeRawBufferPointer) {
        if case .sent(let count) = result { tell(sent: UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
    }

    @inline(never)
    func tell(_ result: SendResult, of vectors: Slice<UnsafeMutableBufferPointer<iovec>>) {
        guard case .sent(var rest) = result else { return }
        for vector in vectors where rest > 0 {
            let bytes = UnsafeRawBufferPointer(start: vector.iov_base, count: min(rest, vector.iov_len))
            rest -= bytes.count
            tell(sent: bytes)
        }
    }

    private func tell(sent bytes: UnsafeRawBufferPointer) { tap?.sent(bytes.bindMemory(to: UInt8.self).span) }
}
