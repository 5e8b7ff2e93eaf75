/// The name of a Unix-domain socket, unix(7): a path, or a name in Linux's abstract namespace.
///
/// It is written as an address, `unix:/run/app.sock`, `unix:relative.sock` or `unix:@abstract`.
public struct UnixSocketName: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes of a path, or of an abstract name without its “@”: 107 (`sun_path` without its NUL).
    public static let byteLimit = 107
    /// The prefix of such an address.
    public static let prefix = "unix:"

    /// The path, or “@” and the abstract name.
    public let text: String

    /// Whether `address` is one of a Unix-domain socket, or was meant to be.
    public static func isMeant(by address: String) -> Bool { address.hasPrefix(prefix) }

    /// Reads an address that begins with `unix:`.
    ///
    /// - Throws: the problem and its remedy.
    public init(parsing address: String) throws(UnitError) {
        let text = String(address.dropFirst(UnixSocketName.prefix.count))
        let name = text.hasPrefix("@") ? text.dropFirst() : text[...]
        if name.isEmpty {
            throw UnitError(
                problem: "\(address.quoted) has no name",
                remedy: "write a path such as “unix:/run/app.sock”, or an abstract name such as “unix:@app”"
            )
        }
        if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw UnitError(problem: "\(address.quoted) has a control character", remedy: "delete it")
        }
        if name.utf8.count > UnixSocketName.byteLimit {
            throw UnitError(
                problem: "the name of a Unix socket has \(UnixSocketName.byteLimit) bytes at most, "
                    + "and \(text.quoted) has \(name.utf8.count)",
                remedy: "write a shorter path, perhaps a relative one"
            )
        }
        if text.hasSuffix("/"), !text.hasPrefix("@") {
            throw UnitError(problem: "\(text.quoted) is a folder", remedy: "write the path of the socket in it")
        }
        if text.utf8.allSatisfy({ (48...57).contains($0) }) {
            throw UnitError(
                problem: "\(address.quoted) may be a port of the host “unix” or a file",
                remedy: "write “unix:./\(text)” for the file, and another name or the address of the host"
            )
        }
        self.text = text
    }

    /// Whether it is an abstract name, which has no file.
    public var isAbstract: Bool { text.hasPrefix("@") }

    /// “unix:/run/app.sock”.
    public var description: String { UnixSocketName.prefix + text }
}
