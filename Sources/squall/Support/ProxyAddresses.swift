import EventLoop
import FaultProfile
import Units

/// Which proxies are run, and where: the one of the command line, or else those of the profile.
struct ProxyAddresses: Sendable {
    /// A proxy without its faults.
    struct Proxy: Hashable, Sendable {
        var name: String
        var listen: Endpoint
        /// The permissions of the Unix socket that it listens on; `nil` is the usual ones.
        var mode: SocketPermissions?
        var upstream: Endpoint
    }

    /// That of the command line.
    let given: Proxy?

    /// The proxies to run with a profile; empty when neither gives one.
    func proxies(of profile: Profile) -> [Proxy] {
        if let given { return [given] }
        return profile.proxies.compactMap { definition in
            guard let listen = Endpoint(definition.listen), let upstream = Endpoint(definition.upstream) else {
                return nil
            }
            return Proxy(name: definition.name, listen: listen, mode: definition.mode, upstream: upstream)
        }
    }
}
