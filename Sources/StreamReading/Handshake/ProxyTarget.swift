import FaultProfile

/// The host and port that a client of a forward proxy asks for.
public struct ProxyTarget: Hashable, Sendable, CustomStringConvertible {
    /// The longest name: 253 bytes (RFC 1035, section 3.1).
    private static let longestName = 253

    /// A name of letters, digits, hyphens, underscores and dots, or a numeric address without brackets.
    public let host: String
    /// The port, 1…65,535.
    public let port: UInt16

    /// Makes a target; `nil` if the host is neither a name nor an IPv6 address without a zone, or the port is 0.
    public init?(host: String, port: UInt16) {
        guard port > 0, ProxyTarget.isName(host) || host.contains(":") && IPAddress(host) != nil else { return nil }
        self.host = host
        self.port = port
    }

    /// Reads `host:port` or `[IPv6]:port` (RFC 9112, section 3.2.3); the port may be left out or empty if there is a default.
    /// Where the port must be there, the last colon is in front of it, so `::1:443`, as some clients write it, is read too.
    init?(authority: Span<UInt8>, defaultPort: UInt16?) {
        var text = authority.text(0..<authority.count)[...]
        guard let first = text.first else { return nil }
        let host: Substring
        if first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            guard host.contains(":") else { return nil }
            text = text[text.index(after: end)...]
        } else {
            let colon = defaultPort == nil ? text.lastIndex(of: ":") : text.firstIndex(of: ":")
            host = text[..<(colon ?? text.endIndex)]
            text = text[host.endIndex...]
        }
        var port = defaultPort
        if text.first == ":" {
            let digits = text.dropFirst()
            if !(digits.isEmpty && defaultPort != nil) {
                guard !digits.isEmpty, digits.utf8.allSatisfy(Byte.isDigit), let number = UInt16(digits) else {
                    return nil
                }
                port = number
            }
        } else if !text.isEmpty {
            return nil
        }
        guard let port else { return nil }
        self.init(host: String(host), port: port)
    }

    private static func isName(_ host: String) -> Bool {
        (1...longestName).contains(host.utf8.count)
            && host.utf8.allSatisfy { Byte.isLetterOrDigit($0) || "-._".utf8.contains($0) }
    }

    /// The host as it is written in a URL: an IPv6 address in brackets.
    var hostText: String { host.contains(":") ? "[\(host)]" : host }

    /// "example.com:443" or "[2001:db8::1]:443".
    public var description: String { "\(hostText):\(port)" }
}
