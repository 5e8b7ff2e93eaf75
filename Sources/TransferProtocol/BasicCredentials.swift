import FoundationEssentials

/// A name and a password for the Basic scheme (RFC 7617).
public struct BasicCredentials: Hashable, Sendable, Confidential {
    /// The bytes of a name and a password that are taken, together: 4,096.
    public static let longest = 4_096

    private let name: String
    private let password: String

    /// Makes credentials; either part may be empty.
    public init(name: String, password: String) throws(CredentialProblem) {
        guard !name.utf8.contains(UInt8(ascii: ":")) else { throw .colonInName }
        let bytes = Array(name.utf8) + password.utf8
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .controlCharacter }
        guard bytes.count <= Self.longest else { throw .tooLong }
        self.name = name
        self.password = password
    }

    /// The value for `Authorization`, with the name and the password in UTF-8.
    var fieldValue: String { "Basic " + Data("\(name):\(password)".utf8).base64EncodedString() }
}

/// Why a name and a password can't be sent. It repeats nothing of them.
public enum CredentialProblem: Error, Hashable, Sendable {
    /// The name has a colon, which ends it (RFC 7617, section 2).
    case colonInName
    /// There is a control character.
    case controlCharacter
    /// They are longer than `BasicCredentials.longest` together.
    case tooLong
}
