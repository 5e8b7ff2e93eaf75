import EventLoop
import FaultProfile
import Units

/// The proxies to run: that of the command line, or those of the profile.
struct ProxyAddresses: Sendable {
    /// A proxy without its faults.
    struct Proxy: Hashable, Sendable {
        var name: String
        var listen: Endpoint
        /// The permissions of its Unix socket; those of a TCP proxy mean nothing.
        var mode = SocketPermissions.ownerOnly
        /// The endpoint to forward to; `nil` for an explicit proxy, whose clients name it.
        var upstream: Endpoint?
    }

    /// The proxy of the command line.
    let given: Proxy?

    /// The proxies to run with a profile; empty when neither source has one.
    func proxies(of profile: Profile) -> [Proxy] {
        if let given { return [given] }
        return profile.proxies.compactMap { definition in
            guard let listen = Endpoint(definition.listen), let upstream = Endpoint(definition.upstream) else {
                return nil
            }
            return Proxy(
                name: definition.name,
                listen: listen,
                mode: definition.mode ?? .ownerOnly,
                upstream: upstream
            )
        }
    }
}
