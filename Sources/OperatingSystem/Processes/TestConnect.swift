import Glibc

/// The first connect of a guard whose calls are supervised: it shows whether the supervisor can have its socket.
package enum TestConnect {
    /// The address, of the block for documentation (RFC 5737).
    package static let address = "192.0.2.1"
    /// The errno value by which the supervisor says that it can: ESHUTDOWN.
    package static let works = ESHUTDOWN

    /// Connects; returns the errno value, 0 on success.
    static func run() -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(9).bigEndian
        inet_pton(AF_INET, TestConnect.address, &address.sin_addr)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return result == 0 ? 0 : errno
    }
}
