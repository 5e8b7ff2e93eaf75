import EventLoop
import FaultProfile
import Units

/// The proxies to run: that of the command line, or those of the profile.
package struct ProxyAddresses: Sendable {
    /// A proxy without its faults.
    package struct Proxy: Hashable, Sendable {
        package var name: String
        package var listen: Endpoint
        /// The permissions of its Unix socket; those of a TCP proxy mean nothing.
        package var mode: SocketPermissions
        /// The endpoint to forward to; `nil` for a forward proxy, whose clients name it.
        package var upstream: Endpoint?

        /// A proxy called `name`.
        package init(name: String, listen: Endpoint, mode: SocketPermissions = .ownerOnly, upstream: Endpoint? = nil) {
            (self.name, self.listen, self.mode, self.upstream) = (name, listen, mode, upstream)
        }
    }

    /// The proxy of the command line.
    let given: Proxy?

    /// The addresses of a command line; without them those of the profile.
    package init(given: Proxy?) { self.given = given }

    /// The proxies to run with a profile; empty when neither source has one.
    package func proxies(of profile: Profile) -> [Proxy] {
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
