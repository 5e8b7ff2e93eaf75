import CLibevent
import Glibc
import OperatingSystem

/// Calls on a system socket by its descriptor.
enum SystemSocket {
    /// Makes a non-blocking, close-on-exec socket.
    ///
    /// - Throws: `SystemError` of socket(2); EMFILE also if only the descriptors of `DescriptorReserve` are left.
    static func make(family: Int32) throws(SystemError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        if descriptor < 0 { throw .last("socket") }
        guard !DescriptorReserve.note(descriptor) else {
            Glibc.close(descriptor)
            throw SystemError(call: "socket", code: SystemError.outOfDescriptors)
        }
        return descriptor
    }

    /// Disables Nagle's algorithm (TCP_NODELAY, tcp(7)); inherited by accepted sockets.
    static func setNoDelay(_ descriptor: Int32) {
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Waits at most that many milliseconds for one of `events` (poll(2)); returns whether it came.
    static func isReady(_ descriptor: Int32, _ events: Int32, within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return poll(&entry, 1, milliseconds) == 1
    }

    /// Makes closing send a reset (SO_LINGER, socket(7)).
    static func setLingerZero(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Limits the receive buffer, in bytes, 1 or more (SO_RCVBUF, tcp(7)).
    static func setReceiveBuffer(_ bytes: Int, _ descriptor: Int32) {
        // The kernel doubles the number for its own use.
        var half = Int32(clamping: max(1, bytes / 2))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &half, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Enables keep-alive probes with an interval in seconds (SO_KEEPALIVE, tcp(7)).
    static func setKeepAlive(seconds: Int, count: Int, _ descriptor: Int32) {
        let options = [(TCP_KEEPIDLE, seconds), (TCP_KEEPINTVL, seconds), (TCP_KEEPCNT, count)]
        for (option, value) in options {
            var value = Int32(clamping: value)
            setsockopt(descriptor, Int32(IPPROTO_TCP), option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &one, socklen_t(MemoryLayout<Int32>.size))
    }
}
