import Glibc
import OperatingSystem
import Synchronization

/// Resolves names off the loops, because getaddrinfo(3) blocks.
public enum Resolver {
    /// The most addresses of a name.
    public static let addressLimit = 16

    /// The most lookups at a time, each on a thread: 128. Further ones wait.
    public static let limit = 128

    private static let threads = LookupThreads(limit: limit)

    /// The addresses of `endpoint`, at least one, in the order to try.
    ///
    /// Numeric hosts are parsed at once; others are looked up on a separate thread, when fewer than `limit` are.
    /// - Throws: `SystemError` of getaddrinfo if the name has no address.
    public static func resolve(_ endpoint: Endpoint) async throws(SystemError) -> [SocketAddress] {
        if let unix = endpoint.unix { return [SocketAddress(unix: unix)] }
        if let address = SocketAddress(numericHost: endpoint.host, port: endpoint.port) { return [address] }
        return try await threads.run { Result { () throws(SystemError) in try lookUp(endpoint) } }.get()
    }

    /// The flags of getaddrinfo for `endpoint`. AI_ADDRCONFIG leaves out a family that only loopback has addresses of,
    /// and a server on localhost may listen at ::1 alone.
    static func flags(for endpoint: Endpoint) -> Int32 { endpoint.isLocalhost ? 0 : AI_ADDRCONFIG }

    private static func lookUp(_ endpoint: Endpoint) throws(SystemError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags(for: endpoint)
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

/// Runs calls that block, each on a thread of its own: in a pool they would keep the threads of tasks.
final class LookupThreads: Sendable {
    private let limit: Int
    private let state = Mutex<(running: Int, waiting: [CheckedContinuation<Void, Never>])>((0, []))

    /// Runs at most `limit` calls at a time; further ones wait in order.
    init(limit: Int) { self.limit = limit }

    /// Runs `body` and returns its result.
    ///
    /// - Throws: `SystemError` of pthread_create; `body` isn't run then.
    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws(SystemError) -> Value {
        await withCheckedContinuation { continuation in
            let begins = state.withLock { state in
                guard state.running < limit else {
                    state.waiting.append(continuation)
                    return false
                }
                state.running += 1
                return true
            }
            if begins { continuation.resume() }
        }
        defer { end() }
        return try await DetachedThread.run(body)
    }

    private func end() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.running -= 1
            return nil
        }
        next?.resume()
    }
}
