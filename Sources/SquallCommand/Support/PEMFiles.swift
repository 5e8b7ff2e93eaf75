import ArgumentParser
import Glibc
import HTTPTransport
import ProfileFiles
import TerminalDisplay

/// The files of two options, a certificate with its chain and its key.
struct PEMFiles {
    private let options: String
    private let certificate: String
    private let key: String

    /// The files that two options name, or `nil` without them.
    ///
    /// - Parameter options: what their names begin with: `--tls` is for `--tls-cert` and `--tls-key`.
    init?(_ options: String, _ certificate: String?, _ key: String?) {
        guard let certificate, let key else { return nil }
        self.options = options
        self.certificate = certificate
        self.key = key
    }

    /// Checks that both options are given, or none.
    static func check(_ options: String, _ certificate: String?, _ key: String?) throws {
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("\(options)-cert and \(options)-key are given together")
        }
    }

    /// The server side of TLS with the certificate.
    func server(offersHTTP2: Bool = true) throws(CommandFailure) -> any ServerTLS {
        let identity = try identity()
        do throws(TLSSettingsProblem) {
            guard let tls = CommandServices.current.tls else { throw .unavailable }
            return try tls.server(identity, offersHTTP2: offersHTTP2)
        } catch {
            throw failure(error)
        }
    }

    /// What the files have; warns of a certificate that has expired.
    func identity() throws(CommandFailure) -> PEMIdentity {
        let identity = PEMIdentity(
            certificates: try PEMFiles.text(of: certificate, "\(options)-cert"),
            privateKey: try CredentialOptions.secret(key, limit: PEMIdentity.maximumTextSize + 1, "\(options)-key")
        )
        if (try? CommandServices.current.tls?.hasExpired(identity, at: time(nil))) ?? false {
            Console.warn("“\(certificate)” (\(options)-cert) has expired: who verifies it refuses it")
        }
        return identity
    }

    /// The failure of a command for a problem with what the files have.
    func failure(_ problem: TLSSettingsProblem) -> CommandFailure {
        let (certificate, key) = ("“\(certificate)” (\(options)-cert)", "“\(key)” (\(options)-key)")
        switch problem {
        case .unreadableCertificate: return .wrongInput("\(certificate): \(problem)")
        case .unreadableKey: return .wrongInput("\(key): \(problem)")
        case .keyMismatch, .unreadableAuthorities, .unavailable, .refused:
            return .wrongInput("\(certificate) and \(key): \(problem)")
        }
    }

    /// The text of a PEM file that an option names.
    static func text(of path: String, _ option: String) throws(CommandFailure) -> [UInt8] {
        try RegularFile.bytes(of: path, limit: PEMIdentity.maximumTextSize + 1, named: "“\(path)” (\(option))")
    }
}
