import Units

/// The name of a host, or all names below a domain, as a condition of a fault.
public struct HostPattern: Hashable, Sendable {
    /// The longest name: 253 bytes (RFC 1035, section 3.1).
    private static let longestName = 253

    /// The name in lower case without a dot at its end, or the usual text of an address.
    private let name: String
    /// Whether only names below `name` match.
    private let isDomain: Bool

    /// Reads a name or an IP address ("example.com", "::1"), or the names below a domain ("*.example.com"). The case of
    /// letters and a dot at the end of a name don't matter.
    ///
    /// Throws for anything else.
    public init(parsing text: String) throws(UnitError) {
        let isDomain = text.hasPrefix("*.")
        let name = isDomain ? String(text.dropFirst(2)) : text
        let isAddress = !isDomain && IPAddress(name) != nil
        guard isAddress || HostPattern.isName(name) else {
            throw UnitError(
                problem: "\(text.quoted) is not the name of a host",
                remedy: "write one such as “example.com”, “*.example.com” or “192.0.2.7”, without a scheme or a port"
            )
        }
        (self.name, self.isDomain) = (HostPattern.normalized(name), isDomain)
    }

    /// Whether a host is meant, which is a name or a numeric address without brackets.
    public func matches(_ host: String) -> Bool {
        let host = HostPattern.normalized(host)
        return isDomain ? host.hasSuffix(".\(name)") && IPAddress(host) == nil : host == name
    }

    /// The pattern as it is usually written; reads back to the same pattern.
    public var text: String { isDomain ? "*.\(name)" : name }

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
