import FoundationEssentials

/// A user name and password for the Basic scheme (RFC 7617).
public struct BasicCredentials: Hashable, Sendable, Redacted {
    /// The maximum size of name and password together, in bytes: 4,096.
    public static let maximumSize = 4_096

    private let name: String
    private let password: String

    /// Makes credentials; either part may be empty.
    public init(name: String, password: String) throws(CredentialProblem) {
        guard !name.utf8.contains(UInt8(ascii: ":")) else { throw .colonInName }
        let bytes = Array(name.utf8) + password.utf8
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .controlCharacter }
        guard bytes.count <= Self.maximumSize else { throw .tooLong }
        self.name = name
        self.password = password
    }

    /// The value of `Authorization`, in UTF-8.
    var fieldValue: String { "Basic " + Data("\(name):\(password)".utf8).base64EncodedString() }
}

/// Why a user name and password can't be sent. Contains neither.
public enum CredentialProblem: Error, Hashable, Sendable {
    /// The name contains a colon, the separator (RFC 7617, section 2).
    case colonInName
    /// A control character.
    case controlCharacter
    /// Together longer than `BasicCredentials.maximumSize`.
    case tooLong
}
