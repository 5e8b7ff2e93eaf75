import FoundationEssentials
import HTTPTransport
import SystemPackage

#if TLS
    import LocalAuthority
#endif

/// A certificate authority for this run, with its certificate in a file for clients to trust.
struct AuthorityFile {
    /// The file with the certificate of the authority.
    let path: String
    /// The certificate of the server and its key.
    let identity: TLSIdentity

    /// Makes the authority, a certificate for `host` and this machine's names, and the file in `TMPDIR` or `/tmp`.
    init(for host: String) throws(CommandFailure) {
        let certificate: String
        do {
            (identity, certificate) = try AuthorityFile.made(for: AuthorityFile.names(host))
        } catch TLSSettingsProblem.unavailable {
            throw .wrongInput("\(TLSSettingsProblem.unavailable); \(TLSFailure.buildAdvice)")
        } catch {
            throw .failed("can't make a certificate: \(error)")
        }
        let folder = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        path = "\(folder)/squall-authority-\(UInt64.random(in: .min ... .max).hexadecimalDigits).pem"
        do {
            // An unguessable name and exclusive creation, for a shared folder.
            let file = try FileDescriptor.open(
                FilePath(path),
                .writeOnly,
                options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead]
            )
            try file.closeAfter { _ = try file.writeAll(certificate.utf8) }
        } catch {
            throw .failed("can't write the certificate of the authority to “\(path)”: \(FileProblem.reason(error))")
        }
    }

    /// Removes the file, which is useless after the server has stopped.
    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// The identity of a server, and the certificate of its authority.
    private static func made(for names: [String]) throws -> (TLSIdentity, String) {
        #if TLS
            let authority = try LocalAuthority()
            return (try authority.identity(for: names), authority.certificate)
        #else
            throw TLSSettingsProblem.unavailable
        #endif
    }

    private static func names(_ host: String) -> [String] {
        var names = ["localhost", "127.0.0.1", "::1"]
        if !names.contains(host), host != "0.0.0.0", host != "::" { names.append(host) }
        return names
    }
}

extension UInt64 {
    /// Sixteen hexadecimal digits.
    fileprivate var hexadecimalDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
