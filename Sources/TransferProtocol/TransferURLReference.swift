/// The parts of a URL or relative reference (RFC 3986, sections 4.1 and 4.2), unvalidated.
struct URLReference {
    let scheme: String?
    let authority: Substring?
    let path: Substring
    let query: Substring?

    init(_ text: String) throws(TransferURLProblem) {
        guard text.utf8.count <= TransferURL.maximumLength else { throw .tooLong }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .controlCharacter }
        var rest = text[...]
        if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
        if let question = rest.firstIndex(of: "?") {
            query = rest[rest.index(after: question)...]
            rest = rest[..<question]
        } else {
            query = nil
        }
        if let colon = rest.firstIndex(of: ":"), Self.isScheme(rest[..<colon]) {
            scheme = String(rest[..<colon])
            rest = rest[rest.index(after: colon)...]
        } else {
            scheme = nil
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = rest[..<end]
            path = rest[end...]
        } else {
            authority = nil
            path = rest
        }
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
    }

    /// Splits `host:port`; the port may be empty, and an IPv6 address loses its brackets.
    static func splitAuthority(_ authority: String) throws(TransferURLProblem) -> (host: Substring, port: Substring) {
        let host: Substring
        let after: Substring
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { throw .invalidHost(authority) }
            host = authority[authority.index(after: authority.startIndex)..<close]
            after = authority[authority.index(after: close)...]
            guard host.contains(":"), host.utf8.allSatisfy({ isHexDigit($0) || ":.".utf8.contains($0) }) else {
                throw .invalidHost(authority)
            }
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = authority[..<colon]
            after = authority[colon...]
            guard !host.isEmpty else { throw .noHost }
            guard host.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "-._~".utf8.contains($0) }) else {
                throw .invalidHost(authority)
            }
        }
        guard after.isEmpty || after.hasPrefix(":") else { throw .invalidHost(authority) }
        return (host, after.dropFirst())
    }

    /// Percent-encodes bytes not allowed in a path or query; existing encodings stay.
    static func percentEncoded(_ text: some StringProtocol) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isLetter(byte) || isDigit(byte) || "-._~!$&'()*+,;=:@/?%[]".utf8.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }

    /// Removes dot segments from a path that starts with a slash (RFC 3986, section 5.2.4).
    static func withoutDotSegments(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x41...0x46).contains(byte & 0xDF) }
}
