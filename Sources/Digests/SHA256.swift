internal import CLibcrypto

/// A SHA-256 computation (FIPS 180-4) by the system's libcrypto.
///
/// A value: a copy continues on its own.
public struct SHA256: Sendable {
    /// The size of a digest, in bytes.
    public static let byteCount = 32

    private var context = SHA256_CTX()

    /// Starts a computation.
    public init() { Self.check(unsafe SHA256_Init(&context)) }

    /// Hashes the next bytes.
    public mutating func update(_ bytes: some Collection<UInt8>) {
        let isDone: Void? = bytes.withContiguousStorageIfAvailable { storage in
            unsafe Self.check(SHA256_Update(&context, storage.baseAddress, storage.count))
        }
        if isDone == nil { update(Array(bytes)) }
    }

    /// The digest of all bytes so far: 32 bytes. More bytes may follow.
    public func finalize() -> [UInt8] {
        var context = context
        var digest = [UInt8](repeating: 0, count: Self.byteCount)
        Self.check(unsafe SHA256_Final(&digest, &context))
        return digest
    }

    /// The digest of `bytes`: 32 bytes.
    public static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }

    private static func check(_ result: Int32) {
        precondition(result == 1, "SHA-256 of libcrypto works on memory alone and can't fail")
    }
}

extension [UInt8] {
    /// The bytes of two hexadecimal digits each; `nil` for text with anything else.
    package init?(hexadecimal text: some StringProtocol) {
        self = []
        var rest = text[...]
        while !rest.isEmpty {
            // `UInt8` takes one digit too, and a sign.
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy(\.isHexDigit), let byte = UInt8(digits, radix: 16) else {
                return nil
            }
            append(byte)
            rest = rest.dropFirst(2)
        }
    }
}

extension Collection<UInt8> {
    /// Two lower-case hexadecimal digits per byte.
    public var hexadecimal: String {
        var text = ""
        text.reserveCapacity(2 * count)
        for byte in self {
            if byte < 16 { text.append("0") }
            text.append(String(byte, radix: 16))
        }
        return text
    }
}
