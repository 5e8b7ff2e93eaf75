import Dispatch
import Glibc
import OperatingSystem

/// Resolves names off the loops, because getaddrinfo(3) blocks.
public enum Resolver {
    /// The most addresses of a name.
    public static let addressLimit = 16

    private static let queue = DispatchQueue(label: "squall.resolver", attributes: .concurrent)

    /// The addresses of `endpoint`, at least one, in the order to try.
    ///
    /// Numeric hosts are parsed at once; others are looked up on a separate thread.
    /// - Throws: `SystemError` of getaddrinfo if the name has no address.
    public static func resolve(_ endpoint: Endpoint) async throws(SystemError) -> [SocketAddress] {
        if let unix = endpoint.unix { return [SocketAddress(unix: unix)] }
        if let address = SocketAddress(numericHost: endpoint.host, port: endpoint.port) { return [address] }
        return try await queue.run { () throws(SystemError) in try lookUp(endpoint) }
    }

    private static func lookUp(_ endpoint: Endpoint) throws(SystemError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        guard code == 0 else { throw failure(code) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let current = entry, addresses.count < addressLimit {
            // A name may have an address twice in the file of hosts.
            if let raw = current.pointee.ai_addr, let address = SocketAddress(UnsafePointer(raw)),
                !addresses.contains(address)
            {
                addresses.append(address)
            }
            entry = current.pointee.ai_next
        }
        guard !addresses.isEmpty else { throw failure(EAI_NONAME) }
        return addresses
    }

    private static func failure(_ code: Int32) -> SystemError {
        SystemError(call: "getaddrinfo", code: code, reason: String(cString: gai_strerror(code)))
    }
}
