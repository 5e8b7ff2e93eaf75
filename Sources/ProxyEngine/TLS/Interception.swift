import EventLoop
import FaultPlan
import FaultProfile
import Units

/// TLS that is intercepted: that of clients of a forward proxy, or of programs, with the hosts of `ProxyTLS.intercepted`.
///
/// The server is connected as for any client. If the client's first bytes are a ClientHello for such a host, the connection
/// becomes that of the wire, and one of the content takes the server.
extension ProxyConfiguration {
    /// Whether a client that wants to be connected to `target` speaks TLS with the proxy.
    func termination(for target: HostName?) -> TLSTermination {
        if listen.usesTLS { return .always }
        guard let target, intercepts else { return .never }
        // The ClientHello to an address has the name.
        return IPAddress(target.host) != nil || tls.intercepts(target) ? .perhaps : .never
    }
}

extension ProxyTLS {
    fileprivate func intercepts(_ host: HostName) -> Bool { intercepted.contains { $0.matches(host) } }
}

extension Connection {
    /// Puts TLS of the proxy between both ends, if the first bytes of the client are a ClientHello for a host that is
    /// intercepted: for `name`, or without one for the client's target.
    func intercept(_ name: String?, _ preamble: Preamble) {
        guard let leg = tls, leg.layer == nil, let content = leg.contentPlan, let host else { return }
        leg.contentPlan = nil
        let named = HostName(name ?? host.host, port: host.port)
        // A server that speaks first speaks no TLS. A hello that is too slow may still have a name.
        guard preamble.isClientHello, name != nil || preamble.isNameless, down.link.taken == 0, server.isOpen,
            shard.context.configuration.tls.intercepts(named)
        else {
            tls = nil
            return
        }
        leg.layer = .wire
        apply(shard.plan.update(connection: ordinal, opened: opened, keeping: .wire), at: loop.now)
        openContent(content, with: server.moved(), named: named.host)
    }

    /// Whether neither side has said anything yet that tells whether TLS is intercepted. No fault of the content ends the
    /// connection before.
    var awaitsHello: Bool {
        guard let preamble, tls?.contentPlan != nil, layer == nil else { return false }
        return preamble.handshake.boundary == nil && !server.isReadable
    }

    /// The server for a report, if it is the proxy's only one, or intercepted.
    var upstream: Endpoint? {
        if let only = shard.context.configuration.destination.upstream { return only }
        guard let name = tls?.host, let port = host?.port else { return nil }
        return Endpoint(host: name, port: port, usesTLS: true)
    }
}
