/// A certificate with its chain and its private key, as texts in PEM format (RFC 7468).
public struct PEMIdentity: Sendable {
    /// The maximum size of each text: 1 MiB.
    public static let maximumTextSize = 1 << 20

    /// The certificate, followed by those of its issuers without the root.
    public var certificates: [UInt8]
    /// The key, without a passphrase.
    public var privateKey: [UInt8]

    /// Makes an identity of two texts, which aren't parsed.
    public init(certificates: [UInt8], privateKey: [UInt8]) {
        self.certificates = certificates
        self.privateKey = privateKey
    }
}

extension PEMIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name of the type; nothing of the key.
    public var description: String { "PEMIdentity" }
    /// The same.
    public var debugDescription: String { description }
    /// No children, so that dumps don't show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
