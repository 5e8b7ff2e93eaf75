/// Where to listen or connect, as a person writes it: a host name or address, and a port.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// The name or numeric address, without brackets.
    public let host: String
    /// The port, 0…65,535.
    public let port: UInt16

    /// Makes an endpoint of its parts.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads "host:port", "127.0.0.1:80" or "[::1]:80"; `nil` for anything else.
    public init?(_ text: String) {
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
        // A name goes to the system as a C string, in which a NUL would be its end.
        let isName = host.unicodeScalars.allSatisfy { $0.value > 32 && $0.value != 127 && $0 != "[" && $0 != "]" }
        guard !host.isEmpty, isName, !host.contains(where: \.isWhitespace) else { return nil }
        self.init(host: String(host), port: port)
    }

    /// "localhost:80", or "[::1]:80" for an address of IPv6.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
