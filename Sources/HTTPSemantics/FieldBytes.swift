extension UInt8 {
    /// Whether the byte is an ASCII digit.
    package var isDigit: Bool { (0x30...0x39).contains(self) }
    /// Whether the byte is an ASCII letter.
    package var isLetter: Bool { (0x41...0x5A).contains(self & 0xDF) }
    /// Whether the byte may stand in a token (RFC 9110, section 5.6.2).
    package var isOfToken: Bool { isLetter || isDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
