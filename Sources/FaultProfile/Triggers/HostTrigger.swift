import Units

extension Trigger {
    static let host = list(
        "host",
        \.hosts,
        .oneOrMore(
            "hosts",
            #"`"example.com"`, `"*.example.com"`, `"192.0.2.7"`, `"localhost:3000"`"#,
            of: .parsed(.hostName, "the name of a host", HostPattern.init(parsing:), text: \.text),
            "hosts",
            empty: "write the name of a host, or delete the key"
        ),
        "the hosts that clients name: to the forward proxy, in the SNI of TLS, or in `Host`",
        fact: .host,
        holds: { pattern, facts in facts.names.contains(where: pattern.matches) },
        sentence: "to",
        name: { $0.text }
    )
}

/// The host that a client has named, and the port that it connects to there.
public struct HostName: Hashable, Sendable {
    /// A name, or a numeric address without brackets.
    public let host: String
    /// The port, 1…65,535; `nil` if it is unknown, as for Unix-domain sockets.
    public let port: UInt16?

    package init(_ host: String, port: UInt16? = nil) {
        (self.host, self.port) = (host, port)
    }
}

/// The name of a host, or all names below a domain, as a condition of a fault; perhaps with a port.
public struct HostPattern: Hashable, Sendable {
    /// The longest name: 253 bytes (RFC 1035, section 3.1).
    private static let longestName = 253

    /// The name in lower case without a dot at its end, or the usual text of an address.
    package let name: String
    /// Whether only names below `name` match.
    private let isDomain: Bool
    /// The only port that matches; `nil` for every port.
    package let port: UInt16?

    /// Reads a name or an IP address ("example.com", "::1"), or the names below a domain ("*.example.com"), with or without
    /// a port after them ("localhost:3000", "[::1]:3000"). The case of letters and a dot at the end of a name don't matter.
    ///
    /// Throws for anything else.
    public init(parsing text: String) throws(UnitError) {
        guard let (host, port) = HostPattern.parts(of: text) else { throw HostPattern.problem(text) }
        let isDomain = host.hasPrefix("*.")
        let name = isDomain ? String(host.dropFirst(2)) : String(host)
        let isAddress = !isDomain && IPAddress(name) != nil
        guard isAddress || HostPattern.isName(name) else { throw HostPattern.problem(text) }
        (self.name, self.isDomain, self.port) = (HostPattern.normalized(name), isDomain, port)
    }

    /// Whether a host and its port are meant. An unknown port is none that a pattern gives.
    public func matches(_ other: HostName) -> Bool {
        if let port, port != other.port { return false }
        let host = HostPattern.normalized(other.host)
        return isDomain ? host.hasSuffix(".\(name)") && IPAddress(host) == nil : host == name
    }

    /// The pattern as it is usually written; reads back to the same pattern.
    public var text: String {
        let host = isDomain ? "*.\(name)" : name
        guard let port else { return host }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The host and the port of `text`; `nil` if the port or the brackets are malformed.
    private static func parts(of text: String) -> (host: Substring, port: UInt16?)? {
        let host: Substring
        let rest: Substring
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            (host, rest) = (text[text.index(after: text.startIndex)..<end], text[text.index(after: end)...])
            guard host.contains(":"), !rest.isEmpty else { return nil }
        } else {
            // An address of IPv6 without a port has more colons than one.
            let colon = text.firstIndex(of: ":").flatMap { $0 == text.lastIndex(of: ":") ? $0 : nil }
            (host, rest) = (text[..<(colon ?? text.endIndex)], colon.map { text[$0...] } ?? "")
        }
        if rest.isEmpty { return (host, nil) }
        guard rest.first == ":", String(rest.dropFirst()).isDecimal, let port = UInt16(rest.dropFirst()), port > 0
        else { return nil }
        return (host, port)
    }

    private static func problem(_ text: String) -> UnitError {
        UnitError(
            problem: "\(text.quoted) is not the name of a host",
            remedy: "write one such as “example.com”, “*.example.com” or “localhost:3000”, without a scheme"
        )
    }

    private static func normalized(_ host: String) -> String {
        if let address = IPAddress(host) { return address.text }
        return (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
    }

    private static func isName(_ text: String) -> Bool {
        let labels = (text.hasSuffix(".") ? text.dropLast() : text[...])
            .split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= longestName
            && labels.allSatisfy { label in
                !label.isEmpty
                    && label.unicodeScalars.allSatisfy {
                        $0.isASCII && ($0.properties.isAlphabetic || "0123456789-_".unicodeScalars.contains($0))
                    }
            }
    }
}
