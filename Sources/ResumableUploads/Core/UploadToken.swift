/// The name of an upload in its URL: 128 random bits as 32 hexadecimal digits. Knowing it grants access.
package struct UploadToken: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Draws a token from `generator`, which must be cryptographically secure.
    package init(using generator: inout some RandomNumberGenerator) {
        high = generator.next()
        low = generator.next()
    }

    /// Parses 32 lower-case hexadecimal digits; `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        let isHexadecimal = text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        guard text.utf8.count == 32, isHexadecimal, let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        self.high = high
        self.low = low
    }

    /// The 32 digits.
    package var description: String { Self.digits(high) + Self.digits(low) }

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}
