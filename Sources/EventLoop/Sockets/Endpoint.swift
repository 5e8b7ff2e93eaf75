import Units

/// Where to listen or connect: a host and a port, or a Unix-domain socket.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// The name or numeric address, without brackets; empty for a Unix-domain socket.
    public let host: String
    /// The port, 0…65,535; 0 for a Unix-domain socket.
    public let port: UInt16
    /// The Unix-domain socket; `nil` for a host and a port.
    public let unix: UnixSocketName?
    /// Whether the connections have TLS; not on a Unix-domain socket.
    public let usesTLS: Bool

    /// Makes an endpoint of its parts.
    public init(host: String, port: UInt16, usesTLS: Bool = false) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        unix = nil
    }

    /// Makes the endpoint of a Unix-domain socket.
    public init(unix: UnixSocketName) {
        host = ""
        port = 0
        usesTLS = false
        self.unix = unix
    }

    /// The word in front of a host and a port with TLS.
    public static let tlsPrefix = "tls:"

    /// Reads "host:port", "127.0.0.1:80", "[::1]:80", with "tls:" in front for TLS, or "unix:/run/app.sock"; `nil` for
    /// anything else.
    public init?(_ text: String) {
        if text.hasPrefix(Endpoint.tlsPrefix), let endpoint = Endpoint(String(text.dropFirst(Endpoint.tlsPrefix.count)))
        {
            // "tls:443" is a host called “tls”.
            guard endpoint.unix == nil, !endpoint.usesTLS else { return nil }
            self.init(host: endpoint.host, port: endpoint.port, usesTLS: true)
            return
        }
        if UnixSocketName.isMeant(by: text) {
            guard let unix = try? UnixSocketName(parsing: text) else { return nil }
            self.init(unix: unix)
            return
        }
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let port = UInt16(digits) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        // A NUL would end the name in a C string.
        let isName = host.unicodeScalars.allSatisfy { $0.value > 32 && $0.value != 127 && $0 != "[" && $0 != "]" }
        guard !host.isEmpty, isName, !host.contains(where: \.isWhitespace) else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Whether the host is `localhost` or a name below it, whose addresses are those of loopback (RFC 6761, section
    /// 6.3). The case of letters and a dot at the end don't matter.
    public var isLocalhost: Bool {
        let name = (host.hasSuffix(".") ? host.dropLast() : host[...]).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    /// Whether the port is 0, which can be listened on but not connected to.
    public var hasFreePort: Bool { unix == nil && port == 0 }

    /// "localhost:80", "[::1]:80" for an address of IPv6, "tls:" in front with TLS, or "unix:/run/app.sock".
    public var description: String {
        if let unix { return unix.description }
        let prefix = usesTLS ? Endpoint.tlsPrefix : ""
        return host.contains(":") ? "\(prefix)[\(host)]:\(port)" : "\(prefix)\(host):\(port)"
    }
}
