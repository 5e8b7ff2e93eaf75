import HTTPSemantics
import HTTPTypes

/// The challenge of a 401 or 407 (RFC 9110, section 11.6).
public struct HTTPChallenge: Hashable, Sendable {
    /// Whether the challenge is a proxy's (407) rather than the server's (401).
    public let isFromProxy: Bool
    /// The scheme names, in field order; at most `maximumSchemes`.
    public private(set) var schemes: [String] = []
    /// The first realm, as the server wrote it.
    public private(set) var realm: String?

    /// The maximum number of schemes kept: 4.
    static let maximumSchemes = 4

    /// Parses the challenges of a 401 or 407. Skips malformed ones.
    public init(status: Int, _ fields: HTTPFields) {
        isFromProxy = status == 407
        var scanner = FieldScanner(fields[isFromProxy ? .proxyAuthenticate : .wwwAuthenticate] ?? "")
        while !scanner.isAtEnd {
            scanner.skipWhitespace()
            if scanner.skip(",") { continue }
            let word = scanner.take(while: \.isOfToken)
            guard !word.isEmpty else { return }
            scanner.skipWhitespace()
            if scanner.skip("=") {
                scanner.skipWhitespace()
                let value = Self.value(&scanner)
                if realm == nil, word.lowercased() == "realm" { realm = value }
            } else if schemes.count < Self.maximumSchemes {
                schemes.append(word)
            }
        }
    }

    /// A token or a quoted string (sections 5.6.2 and 5.6.4), or the rest of a token68.
    private static func value(_ scanner: inout FieldScanner) -> String {
        guard scanner.skip("\"") else { return scanner.take { $0.isOfToken || "/=".utf8.contains($0) } }
        var value = ""
        while true {
            value += scanner.take { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            guard scanner.skip("\\") else {
                _ = scanner.skip("\"")
                return value
            }
            if scanner.skip("\"") {
                value += "\""
            } else if scanner.skip("\\") {
                value += "\\"
            }
        }
    }
}
