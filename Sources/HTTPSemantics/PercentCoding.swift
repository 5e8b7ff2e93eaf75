/// Percent-encoding (RFC 3986, section 2.1).
public enum PercentCoding {
    /// Decodes `text`; `nil` for a `%` without two hexadecimal digits, or bytes that aren't UTF-8.
    public static func decoded(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Percent-encodes every byte but ASCII letters, digits and those in `kept`.
    package static func encoded(_ text: some StringProtocol, keeping kept: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            if byte.isLetter || byte.isDigit || kept.utf8.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    private static func digit(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case .some(let byte) where (0x30...0x39).contains(byte): byte - 0x30
        case .some(let byte) where (0x41...0x46).contains(byte & 0xDF): (byte & 0xDF) - 0x41 + 10
        default: nil
        }
    }
}
