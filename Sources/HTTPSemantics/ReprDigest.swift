import FoundationEssentials
import RawStructuredFieldValues

/// The SHA-256 of a complete representation, whichever part of it the message contains (`Repr-Digest`, RFC 9530,
/// section 3).
public struct ReprDigest: Hashable, Sendable {
    /// The 32 bytes of the digest.
    public let sha256: [UInt8]

    /// Makes the field of a digest. Returns `nil` unless `sha256` has 32 bytes.
    public init?(sha256: [UInt8]) {
        guard sha256.count == 32 else { return nil }
        self.sha256 = sha256
    }

    /// Parses a field value such as `sha-256=:…:`; join several field lines with commas.
    ///
    /// Skips other algorithms. Returns `nil` when there is no `sha-256`, when it isn't a byte sequence of 32 bytes, or
    /// when the field isn't a dictionary (RFC 9651): the field then counts as absent.
    public init?(_ headerValue: String) {
        var parser = StructuredFieldValueParser(Array(headerValue.utf8))
        guard let members = try? parser.parseDictionaryFieldValue(),
            case .item(let item) = members["sha-256"],
            case .undecodedByteSequence(let encoded) = item.rfc9651BareItem
        else { return nil }
        // Senders may omit the padding (RFC 9651, section 4.2.7); the decoder requires it.
        let padding = String(repeating: "=", count: (4 - encoded.utf8.count % 4) % 4)
        guard let decoded = Data(base64Encoded: encoded + padding) else { return nil }
        self.init(sha256: Array(decoded))
    }

    /// The digest as a field value: `sha-256=:…:`.
    public var headerValue: String { "sha-256=:\(Data(sha256).base64EncodedString()):" }
}

/// The digest algorithms that the sender prefers (`Want-Repr-Digest`, RFC 9530, section 4).
public struct WantReprDigest: Hashable, Sendable {
    /// The preference for SHA-256: 1, lowest, to 10, highest; 0 when it isn't acceptable or not listed.
    public let sha256Preference: Int

    /// Requests SHA-256. `sha256Preference` is clamped to 0...10.
    public init(sha256Preference: Int) {
        self.sha256Preference = min(max(sha256Preference, 0), 10)
    }

    /// Parses a field value such as `sha-256=9, sha-512=3`; join several field lines with commas.
    ///
    /// A `sha-256` that isn't an integer from 0 to 10 counts as not listed. Returns `nil` when the field isn't a
    /// dictionary (RFC 9651): it then counts as absent.
    public init?(_ headerValue: String) {
        var parser = StructuredFieldValueParser(Array(headerValue.utf8))
        guard let members = try? parser.parseDictionaryFieldValue() else { return nil }
        guard case .item(let item) = members["sha-256"], case .integer(let preference) = item.rfc9651BareItem,
            (0...10).contains(preference)
        else {
            self.init(sha256Preference: 0)
            return
        }
        self.init(sha256Preference: Int(preference))
    }

    /// Whether SHA-256 is requested at all.
    public var wantsSHA256: Bool { sha256Preference > 0 }

    /// The preference as a field value: `sha-256=9`.
    public var headerValue: String { "sha-256=\(sha256Preference)" }
}
