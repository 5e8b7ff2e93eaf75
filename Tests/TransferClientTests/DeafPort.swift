import Glibc

/// A reserved loopback port without a listener.
final class DeafPort: Sendable {
    let number: UInt16
    private let descriptor: CInt

    /// The error if none could be reserved.
    struct Failure: Error {
        var code: CInt
    }

    init() throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        self.descriptor = descriptor
        number = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw Failure(code: errno) }
    }

    deinit { close(descriptor) }
}
