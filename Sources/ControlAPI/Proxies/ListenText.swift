import EventLoop
import FaultProfile
import OperatingSystem
import ProxyEngine
import Units

/// Addresses to listen on as Toxiproxy's clients write them.
enum ListenText {
    /// The endpoint of `text`: `host:port`, with `tls:` in front for TLS, or `unix:path`. Without a host it is every interface
    /// of IPv6 and IPv4, and so it is with `*` or `0.0.0.0`, as in Go. An empty text is every interface at a free port.
    static func endpoint(_ text: String) throws(ControlError) -> Endpoint {
        if text.isEmpty { return Endpoint(host: "::", port: 0) }
        let text = try translated(text) { .malformedListen("listen tcp: \($0)") }
        if let rest = SecureAddress.rest(of: text), !UnixSocketName.isMeant(by: rest) {
            let plain = try endpoint(rest)
            return Endpoint(host: plain.host, port: plain.port, usesTLS: true)
        }
        let host = ["*:", "0.0.0.0:"].first { text.hasPrefix($0) }
        let port = text.dropFirst(host.map { $0.count - 1 } ?? 0)
        if port.hasPrefix(":"), let endpoint = Endpoint("[::]\(port)") { return endpoint }
        if let endpoint = Endpoint(text) { return endpoint }
        throw .malformedListen("listen tcp: address \(text): \(reason(text))")
    }

    /// The addresses of an endpoint to listen on. Those of a name begin with IPv4, as in Go. Every interface has two, for IPv6
    /// and for IPv4.
    static func addresses(
        _ endpoint: Endpoint,
        resolve: (Endpoint) async throws(SystemError) -> [SocketAddress] = Resolver.resolve
    ) async throws(SystemError) -> [SocketAddress] {
        let found = try await resolve(endpoint)
        var addresses = found.filter { !$0.isIPv6 } + found.filter(\.isIPv6)
        if endpoint.host == "::", let other = SocketAddress(numericHost: "0.0.0.0", port: endpoint.port) {
            addresses.append(other)
        }
        return addresses
    }

    /// The upstream of a proxy whose clients name their targets.
    static let anyHost = ProxyConfiguration.Destination.requested(ForwardPolicy()).description

    /// Where a proxy with an upstream of this text forwards to. `policy` is that of forward proxies, if the server may have
    /// some.
    static func destination(
        _ text: String,
        _ policy: ForwardPolicy?
    ) throws(ControlError) -> ProxyConfiguration.Destination {
        guard text == anyHost else { return .upstream(try upstream(text)) }
        guard let policy else {
            throw .invalid("upstream: “\(anyHost)” is for a server that was started with --forward-proxy")
        }
        return .requested(policy)
    }

    /// The endpoint of an upstream. Without a host it is on this machine.
    private static func upstream(_ text: String) throws(ControlError) -> Endpoint {
        let text = try translated(text) { .invalid("upstream: \($0)") }
        guard let endpoint = Endpoint(SecureAddress.completing(text)) else {
            throw .invalid("upstream: address \(text): \(reason(text))")
        }
        guard !endpoint.hasFreePort else { throw .invalid("upstream: address \(text): the port must be above 0") }
        return endpoint
    }

    /// Translates a URL of HTTPS to an address with TLS, and returns any other address as it is. Throws for other URLs and
    /// for addresses of datagrams, with the remedy of the command.
    private static func translated(
        _ text: String,
        orThrow problem: (String) -> ControlError
    ) throws(ControlError) -> String {
        do throws(UnitError) {
            let address = try SecureAddress.translated(text)
            guard let refusal = ForeignWords.refusal(ofAddress: address) else { return address }
            throw refusal
        } catch {
            throw problem("\(error.problem): \(error.remedy)")
        }
    }

    private static func reason(_ text: String) -> String {
        guard let colon = text.lastIndex(of: ":") else { return "missing port in address" }
        if text[..<colon].contains(":"), !text.hasPrefix("[") { return "too many colons in address" }
        return UInt16(text[text.index(after: colon)...]) == nil ? "invalid port" : "invalid host"
    }

    /// Whether both texts name the same address, after looking up their names. Port 0 is never the same.
    static func areSame(
        _ left: String,
        _ right: String,
        resolve: (Endpoint) async throws(SystemError) -> [SocketAddress] = Resolver.resolve
    ) async -> Bool {
        guard let left = try? endpoint(left), let right = try? endpoint(right) else { return false }
        if left.hasFreePort || right.hasFreePort { return false }
        if left == right { return true }
        guard left.port == right.port, left.usesTLS == right.usesTLS, left.unix == nil, right.unix == nil,
            let leftAddress = try? await addresses(left, resolve: resolve).first,
            let rightAddress = try? await addresses(right, resolve: resolve).first
        else { return false }
        return leftAddress == rightAddress
    }
}
