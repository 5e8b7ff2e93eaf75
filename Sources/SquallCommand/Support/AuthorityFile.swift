import FoundationEssentials
import HTTPTransport
import OperatingSystem
import ProxyRunners
import TerminalDisplay

/// A certificate authority for this run, with its certificate in a file for clients to trust.
struct AuthorityFile {
    /// The file with the certificate of the authority.
    let path: String
    /// The server side of TLS with a certificate of the authority.
    let server: any ServerTLS

    /// Makes the authority, a certificate for `host` and this machine's names, and the file in `TMPDIR` or `/tmp`.
    init(for host: String) throws(CommandFailure) {
        let certificate: String
        do {
            guard let tls = CommandServices.current.tls else {
                throw CommandFailure.wrongInput("\(TLSSettingsProblem.unavailable); \(TLSFailure.buildAdvice)")
            }
            (server, certificate) = try tls.authority(for: AuthorityFile.names(host))
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw .failed("can't make a certificate: \(error)")
        }
        path = "\(UserFolders.temporary)/squall-authority-\(String(UInt64.random(in: 1 << 60 ... .max), radix: 16)).pem"
        try TrustFile.write(certificate.utf8, to: path)
    }

    /// Removes the file, which is useless after the server has stopped.
    func remove() { try? FileManager.default.removeItem(atPath: path) }

    private static func names(_ host: String) -> [String] {
        var names = ["localhost", "127.0.0.1", "::1"]
        if !names.contains(host), host != "0.0.0.0", host != "::" { names.append(host) }
        return names
    }
}
