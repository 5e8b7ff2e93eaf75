import Units

extension ProfileDecoder {
    /// A network address, `host:port` or `:port` on loopback, or a Unix socket, `unix:path`. `lowestPort` is 0 where a free port may be taken,
    /// else 1.
    mutating func address(_ object: CheckedObject, _ key: String, lowestPort: Int) -> String? {
        guard let node = object[key] else { return nil }
        let example = lowestPort == 0 ? "127.0.0.1:8080" : "127.0.0.1:80"
        guard case .text(let text) = node.value else {
            reportType(of: node, expected: "an address", key: key, remedy: "write one such as “\"\(example)\"”")
            return nil
        }
        do {
            let text = try SecureAddress.translated(text)
            try AddressText.check(text, lowestPort: lowestPort, example: example)
            return SecureAddress.completing(text)
        } catch {
            report(error, at: node.place)
            return nil
        }
    }

    /// The permissions of the Unix socket `listen`, which has to have a file to have them.
    mutating func fileMode(_ object: CheckedObject, _ key: String, of listen: String?) -> SocketPermissions? {
        guard let node = object[key] else { return nil }
        guard case .text(let text) = node.value else {
            let remedy = "write three octal digits in quotes, such as “\"0660\"”"
            reportType(of: node, expected: "a file mode", key: key, remedy: remedy)
            return nil
        }
        do {
            let mode = try SocketPermissions(parsing: text)
            guard let listen, !UnixSocketName.isMeant(by: listen) || listen.hasPrefix("unix:@") else { return mode }
            report(
                "\(key.quoted) is for a Unix socket with a path, and the proxy listens on \(listen.quoted)",
                remedy: "delete it",
                at: node.place
            )
            return nil
        } catch {
            report(error, at: node.place)
            return nil
        }
    }
}

/// The rules for addresses: `unix:` and the name of a Unix socket, or `host:port`, a name (RFC 1123 §2.1, underscores allowed), an IPv4 address, or an
/// IPv6 address in brackets (RFC 3986 §3.2.2, no zone); a decimal port without leading zeros.
enum AddressText {
    static func check(_ text: String, lowestPort: Int, example: String) throws(UnitError) {
        if UnixSocketName.isMeant(by: text) {
            _ = try UnixSocketName(parsing: text)
            return
        }
        if let refusal = ForeignWords.refusal(ofAddress: text) { throw refusal }
        if let rest = SecureAddress.rest(of: text), !UnixSocketName.isMeant(by: rest) {
            return try check(rest, lowestPort: lowestPort, example: example)
        }
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
            throw UnitError(
                problem: "\(text.quoted) has no port",
                remedy: "write host and port, such as \(example.quoted)"
            )
        }
        let host = String(text[..<colon])
        let port = String(text[text.utf8.index(after: colon)...])
        if text.contains("://") || text.contains("/") {
            throw UnitError(
                problem: "\(text.quoted) is a URL, not an address",
                remedy: "write host and port alone, such as \(example.quoted)"
            )
        }
        try check(port: port, in: text, lowestPort: lowestPort)
        // Without a host it is on loopback.
        if !host.isEmpty { try check(host: host, in: text, example: example) }
    }

    /// An address that is one, in the one way of writing it: the same for “[::1]:80” and “[0::1]:80”.
    static func normalized(_ text: String) -> String {
        if UnixSocketName.isMeant(by: text) { return text }
        if let rest = SecureAddress.rest(of: text) { return normalized(rest) }
        guard text.hasPrefix("["), let bracket = text.lastIndex(of: "]"),
            let address = IPAddress(text[..<bracket].dropFirst())
        else { return text.lowercased() }
        return (address.isIPv4 ? address.text : "[\(address.text)]") + text[bracket...].dropFirst()
    }

    private static func check(port: String, in text: String, lowestPort: Int) throws(UnitError) {
        guard port.isDecimal, let number = UInt16(port), number >= lowestPort else {
            throw UnitError(
                problem: "\(text.quoted) has the port \(port.quoted)",
                remedy: "write a port from \(lowestPort) to 65535"
            )
        }
    }

    private static func check(host: String, in text: String, example: String) throws(UnitError) {
        if host.hasPrefix("[") && host.hasSuffix("]") {
            let inside = host.dropFirst().dropLast()
            if inside.contains(":"), IPAddress(inside) != nil { return }
            throw UnitError(
                problem: "\(host.quoted) is not an IPv6 address",
                remedy: "write one such as “[::1]”"
            )
        }
        if host.contains(":") {
            throw UnitError(
                problem: "\(text.quoted) has colons in its host",
                remedy: "write an IPv6 address in brackets, such as “[::1]:80”"
            )
        }
        let looksLikeIPv4 = host.utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: ".") }
        guard looksLikeIPv4 ? IPAddress(host) != nil : isName(host) else {
            throw UnitError(
                problem: "\(host.quoted) is neither a host name nor an address",
                remedy: "write one such as “localhost”, “127.0.0.1” or “[::1]”"
            )
        }
    }

    private static func isName(_ host: String) -> Bool {
        guard host.utf8.count <= 253 else { return false }
        return host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            let isInside = label.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
            return isInside && (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
        }
    }
}
