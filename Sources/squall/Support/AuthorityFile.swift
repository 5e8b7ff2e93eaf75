import Foundation
import HTTPTransport
import LocalAuthority
import SystemPackage

/// A certificate authority of this run, whose certificate is in a file that clients can be told to trust.
struct AuthorityFile {
    /// The file with the certificate of the authority.
    let path: String
    /// The certificate of the server and its key.
    let identity: TLSIdentity

    /// Makes the authority, a certificate for `host` and the names of this machine, and the file, in `TMPDIR` or `/tmp`.
    init(for host: String) throws(CommandFailure) {
        let authority: LocalAuthority
        do {
            authority = try LocalAuthority()
            identity = try authority.identity(for: AuthorityFile.names(host))
        } catch {
            throw .failed("can't make a certificate: \(error)")
        }
        let folder = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        path = "\(folder)/squall-authority-\(UInt64.random(in: .min ... .max).hexadecimalDigits).pem"
        do {
            // A name that nobody can guess, and a file that wasn't there before, for a shared folder.
            let file = try FileDescriptor.open(
                FilePath(path),
                .writeOnly,
                options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead]
            )
            try file.closeAfter { _ = try file.writeAll(authority.certificate.utf8) }
        } catch {
            throw .failed("can't write the certificate of the authority to “\(path)”: \(FileProblem.reason(error))")
        }
    }

    /// Removes the file: what it is for ends with the server.
    func remove() { try? FileManager.default.removeItem(atPath: path) }

    private static func names(_ host: String) -> [String] {
        var names = ["localhost", "127.0.0.1", "::1"]
        if !names.contains(host), host != "0.0.0.0", host != "::" { names.append(host) }
        return names
    }
}

extension UInt64 {
    /// Sixteen digits.
    fileprivate var hexadecimalDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
