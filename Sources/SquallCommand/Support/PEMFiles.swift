import HTTPTransport
import ProfileFiles
import TerminalDisplay

/// Certificates and keys in files.
enum PEMFiles {
    /// The server side of TLS with a certificate and its key, from two files.
    static func server(
        _ certificate: String,
        _ certificateOption: String,
        _ key: String,
        _ keyOption: String,
        offersHTTP2: Bool = true
    ) throws(CommandFailure) -> any ServerTLS {
        let identity = try identity(certificate, certificateOption, key, keyOption)
        do throws(TLSSettingsProblem) {
            guard let tls = CommandServices.current.tls else { throw .unavailable }
            return try tls.server(identity, offersHTTP2: offersHTTP2)
        } catch {
            throw failure(error, certificate, certificateOption, key, keyOption)
        }
    }

    static func identity(
        _ certificate: String,
        _ certificateOption: String,
        _ key: String,
        _ keyOption: String
    ) throws(CommandFailure) -> PEMIdentity {
        PEMIdentity(
            certificates: try text(of: certificate, certificateOption),
            privateKey: try CredentialOptions.secret(key, limit: PEMIdentity.maximumTextSize + 1, keyOption)
        )
    }

    static func failure(
        _ problem: TLSSettingsProblem,
        _ certificate: String,
        _ certificateOption: String,
        _ key: String,
        _ keyOption: String
    ) -> CommandFailure {
        switch problem {
        case .unreadableCertificate: .wrongInput("“\(certificate)” (\(certificateOption)): \(problem)")
        case .unreadableKey: .wrongInput("“\(key)” (\(keyOption)): \(problem)")
        case .keyMismatch, .unreadableAuthorities, .unavailable, .refused:
            .wrongInput("“\(certificate)” (\(certificateOption)) and “\(key)” (\(keyOption)): \(problem)")
        }
    }

    static func text(of path: String, _ option: String) throws(CommandFailure) -> [UInt8] {
        do throws(RegularFileProblem) {
            return try RegularFile.bytes(of: path, limit: PEMIdentity.maximumTextSize + 1)
        } catch {
            throw .wrongInput("can't read “\(path)” (\(option)): \(error.reason) (\(error.remedy))")
        }
    }
}
