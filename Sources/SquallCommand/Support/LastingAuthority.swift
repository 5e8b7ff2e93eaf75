import FoundationEssentials
import Glibc
import ProfileFiles
import SystemPackage
import TerminalDisplay

/// The files of an authority that outlasts a run: one with its key, and one for clients.
enum LastingAuthority {
    /// The end of the name of the file for clients.
    static let trustSuffix = ".crt"

    /// Writes both files, which must not exist.
    static func write(_ text: String, _ certificate: String, to path: String) throws(CommandFailure) {
        try write(text, to: path, .ownerReadWrite)
        do throws(CommandFailure) {
            try write(certificate, to: path + trustSuffix, [.ownerReadWrite, .groupRead, .otherRead])
        } catch {
            try? FileManager.default.removeItem(atPath: path)
            throw error
        }
    }

    /// Removes both files.
    static func remove(_ path: String) {
        for file in [path, path + trustSuffix] { try? FileManager.default.removeItem(atPath: file) }
    }

    private static func write(_ text: String, to path: String, _ mode: FilePermissions) throws(CommandFailure) {
        let file: FileDescriptor
        do {
            let options: FileDescriptor.OpenOptions = [.create, .exclusiveCreate, .closeOnExec]
            file = try .open(FilePath(path), .writeOnly, options: options, permissions: mode)
        } catch Errno.fileExists {
            throw .wrongInput("“\(path)” exists, and clients may trust it: name another file, or remove it")
        } catch {
            throw .wrongInput("can't write “\(path)”: \(FileProblem.reason(error))")
        }
        do {
            try file.closeAfter { _ = try file.writeAll(text.utf8) }
        } catch {
            try? FileManager.default.removeItem(atPath: path)
            throw .failed("can't write “\(path)”: \(FileProblem.reason(error))")
        }
    }

    /// Whether nobody but its owner can read or change a file. As PostgreSQL has it for its keys, the group may read a file of
    /// root's where the process is another user's: so come those of a Secret of Kubernetes and of systemd's `LoadCredential=`.
    static func isPrivate(
        _ permissions: FilePermissions,
        owner: UserID,
        user: UserID = UserID(rawValue: geteuid())
    ) -> Bool {
        let root = UserID(rawValue: 0)
        let permitted: FilePermissions = owner == root && user != root ? .groupRead : []
        return permissions.subtracting(permitted).isDisjoint(with: [.groupReadWriteExecute, .otherReadWriteExecute])
    }

    /// The text of the file of `--authority`, which must be private.
    static func text(of path: String) throws(CommandFailure) -> String {
        let text = String(decoding: try PEMFiles.text(of: path, "--authority"), as: UTF8.self)
        if path.hasSuffix(trustSuffix), !text.contains("PRIVATE KEY") {
            throw .wrongInput(
                "“\(path)” (--authority) is the certificate for clients: name “\(path.dropLast(trustSuffix.count))”"
            )
        }
        guard let facts = try? FilePath(path).stat(), isPrivate(facts.permissions, owner: facts.userID) else {
            throw .wrongInput(
                "“\(path)” (--authority) has a key, and other users can read or change it: chmod 600 “\(path)”"
            )
        }
        try CommandFailure.attempting("“\(path)” (--authority)", code: .wrongInput) {
            try CommandServices.current.tls?.check(authority: text)
        }
        return text
    }
}
