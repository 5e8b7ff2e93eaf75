import HTTPSemantics

/// The parts of a URL or relative reference (RFC 3986, sections 4.1 and 4.2), unvalidated.
struct URLReference {
    let scheme: String?
    let authority: String?
    let path: String
    let query: String?

    init(_ text: String) throws(TransferURLProblem) {
        guard text.utf8.count <= TransferURL.maximumLength else { throw .tooLong }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .controlCharacter }
        var rest = text[...]
        if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
        if let question = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: question)...])
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
            authority = String(rest[..<end])
            path = String(rest[end...])
        } else {
            authority = nil
            path = String(rest)
        }
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard text.utf8.first?.isLetter == true else { return false }
        return text.utf8.allSatisfy { $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) }
    }

    /// Splits `host:port`; the port may be empty, and an IPv6 address loses its brackets.
    static func splitAuthority(_ authority: String) throws(TransferURLProblem) -> (host: Substring, port: Substring) {
        let host: Substring
        let after: Substring
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { throw .invalidHost(authority) }
            host = authority[authority.index(after: authority.startIndex)..<close]
            after = authority[authority.index(after: close)...]
            guard host.contains(":"),
                host.utf8.allSatisfy({ $0.isDigit || (0x41...0x46).contains($0 & 0xDF) || ":.".utf8.contains($0) })
            else {
                throw .invalidHost(authority)
            }
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = authority[..<colon]
            after = authority[colon...]
            guard !host.isEmpty else { throw .noHost }
            guard host.utf8.allSatisfy({ $0.isLetter || $0.isDigit || "-._~".utf8.contains($0) }) else {
                throw .invalidHost(authority)
            }
        }
        guard after.isEmpty || after.hasPrefix(":") else { throw .invalidHost(authority) }
        return (host, after.dropFirst())
    }

    /// Percent-encodes bytes not allowed in a path or query; existing encodings stay.
    static func percentEncoded(_ text: String) -> String {
        PercentCoding.encoded(text, keeping: "-._~!$&'()*+,;=:@/?%[]")
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
}
