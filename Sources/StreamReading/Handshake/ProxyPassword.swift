import FoundationEssentials

/// The password that a forward proxy asks for; any user name goes with it.
public struct ProxyPassword: Hashable, Sendable {
    /// The longest password: 255 bytes (RFC 1929, section 2).
    public static let sizeLimit = 255

    private let bytes: [UInt8]

    /// Makes a password of 1 to 255 bytes; `nil` for other sizes.
    public init?(_ text: String) {
        bytes = Array(text.utf8)
        guard (1...ProxyPassword.sizeLimit).contains(bytes.count) else { return nil }
    }

    /// Whether `other` is the password. The time doesn't depend on where they differ.
    func matches(_ other: some Collection<UInt8>) -> Bool {
        var difference: UInt8 = other.count == bytes.count ? 0 : 1
        for (own, theirs) in zip(bytes, other) { difference |= own ^ theirs }
        return difference == 0
    }

    /// Whether the value of a `Proxy-Authorization` field has the password, by the scheme Basic (RFC 7617).
    func matches(authorization value: Span<UInt8>) -> Bool {
        guard let space = value.firstIndex(of: Byte.space, in: 0..<value.count),
            value.extracting(..<space).equalsIgnoringCase("basic"),
            let credentials = ProxyPassword.decoded(value.extracting(value.trimmed(space..<value.count))),
            let colon = credentials.firstIndex(of: Byte.colon)
        else { return false }
        return matches(credentials[(colon + 1)...])
    }

    /// The bytes that `text` encodes in base 64 (RFC 4648, section 4), with or without padding; `nil` if it isn't base 64.
    private static func decoded(_ text: Span<UInt8>) -> Data? {
        var encoded = Data(text.indices.map { text[$0] })
        while !encoded.count.isMultiple(of: 4) { encoded.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: encoded)
    }
}
