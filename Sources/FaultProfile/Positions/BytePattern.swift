/// Bytes to be found in a stream.
public struct BytePattern: Hashable, Sendable {
    /// The bytes: 1 to `ProfileLimits.patternBytes` of them.
    public var bytes: [UInt8]

    /// Makes a pattern of `bytes`, which aren't empty.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The pattern as a person reads it: “END”, or its digits where it isn't text.
    public var text: String {
        isText ? "“\(String(decoding: bytes, as: UTF8.self))”" : hexadecimal
    }

    /// Whether the pattern is UTF-8 without control characters.
    var isText: Bool {
        guard String(validating: bytes, as: UTF8.self) != nil else { return false }
        return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    var hexadecimal: String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
