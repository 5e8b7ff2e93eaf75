/// The permissions of a Unix socket's file, as for chmod(1): “0660”. Write permission allows connecting.
public struct SocketPermissions: Hashable, Sendable, CustomStringConvertible {
    /// Access for the owner only: 0600.
    public static let ownerOnly = SocketPermissions(bits: 0o600)

    /// The nine bits: owner, group, others.
    public let bits: UInt16

    /// Permissions of these bits, of which the lowest nine count.
    public init(bits: UInt16) {
        self.bits = bits & 0o777
    }

    /// Reads three octal digits, with or without a zero in front: “660”, “0660”.
    ///
    /// - Throws: the problem and its remedy.
    public init(parsing text: String) throws(UnitError) {
        let digits = text.utf8.count == 4 && text.hasPrefix("0") ? text.dropFirst() : text[...]
        guard digits.utf8.count == 3, digits.utf8.allSatisfy({ (48...55).contains($0) }),
            let bits = UInt16(digits, radix: 8)
        else {
            throw UnitError(
                problem: "\(text.quoted) is no file mode",
                remedy: "write three octal digits, such as “600” or “660”"
            )
        }
        self.bits = bits
    }

    /// Four octal digits: “0660”.
    public var description: String {
        let digits = String(bits, radix: 8)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
