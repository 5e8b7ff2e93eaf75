/// The password that an explicit proxy asks for; any user name goes with it.
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
            let credentials = Base64.decode(value.extracting(value.trimmed(space..<value.count))),
            let colon = credentials.firstIndex(of: Byte.colon)
        else { return false }
        return matches(credentials[(colon + 1)...])
    }
}

/// Base 64 (RFC 4648, section 4).
enum Base64 {
    /// The bytes that `text` encodes, with or without padding; `nil` if it isn't base 64.
    static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, count): (UInt32, Int) = (0, 0)
        var end = text.count
        while end > 0, text[end - 1] == UInt8(ascii: "="), text.count - end < 2 { end -= 1 }
        for index in 0..<end {
            guard let value = value(of: text[index]) else { return nil }
            bits = bits << 6 | value
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= (1 << UInt32(count)) - 1
        }
        // A single character encodes no byte, and unused bits are 0.
        return count < 6 && bits == 0 ? bytes : nil
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5A: UInt32(character - 0x41)
        case 0x61...0x7A: UInt32(character - 0x61 + 26)
        case 0x30...0x39: UInt32(character - 0x30 + 52)
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
