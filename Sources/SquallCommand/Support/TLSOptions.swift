import ArgumentParser
import HTTPTransport
import ProfileFiles
import TerminalDisplay
import TransferClient

/// The TLS options of a transfer: trusted authorities and client certificate.
struct TLSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Trust the certificate authorities of this PEM file in place of the system's.",
            valueName: "file"
        )
    )
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "A PEM file with the certificate, and its chain, for servers that ask for one.",
            valueName: "file"
        )
    )
    var clientCert: String?

    @Option(help: ArgumentHelp("A PEM file with the private key of --client-cert.", valueName: "file"))
    var clientKey: String?

    func validate() throws {
        guard (clientCert == nil) == (clientKey == nil) else {
            throw ValidationError("--client-cert and --client-key are given together")
        }
    }

    /// The client side of TLS, after reading files; `nil` in a build without TLS if no option is given.
    func client() throws(CommandFailure) -> (any ClientTLS)? {
        let authorities: [UInt8]? =
            if let caFile { try TLSOptions.text(of: caFile, "--ca-file") } else { nil }
        let identity: PEMIdentity? =
            if let clientCert, let clientKey {
                try TLSOptions.identity(clientCert, "--client-cert", clientKey, "--client-key")
            } else {
                nil
            }
        guard let tls = CommandServices.current.tls else {
            if let caFile { throw .wrongInput("“\(caFile)” (--ca-file): \(TLSSettingsProblem.unavailable)") }
            guard let clientCert, let clientKey else { return nil }
            throw TLSOptions.failure(.unavailable, clientCert, "--client-cert", clientKey, "--client-key")
        }
        do throws(TLSSettingsProblem) {
            return try tls.client(authorities: authorities, identity: identity)
        } catch {
            switch (error, caFile, clientCert, clientKey) {
            case (.unreadableAuthorities, let caFile?, _, _): throw .wrongInput("“\(caFile)” (--ca-file): \(error)")
            case (_, _, let clientCert?, let clientKey?):
                throw TLSOptions.failure(error, clientCert, "--client-cert", clientKey, "--client-key")
            default: throw .wrongInput("TLS can't be used: \(error)")
            }
        }
    }

    /// The server side of TLS with a certificate and its key, from two files.
    static func server(
        _ certificate: String,
        _ certificateOption: String,
        _ key: String,
        _ keyOption: String
    ) throws(CommandFailure) -> any ServerTLS {
        let identity = try identity(certificate, certificateOption, key, keyOption)
        do throws(TLSSettingsProblem) {
            guard let tls = CommandServices.current.tls else { throw .unavailable }
            return try tls.server(identity)
        } catch {
            throw failure(error, certificate, certificateOption, key, keyOption)
        }
    }

    private static func identity(
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

    private static func failure(
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

    private static func text(of path: String, _ option: String) throws(CommandFailure) -> [UInt8] {
        do throws(RegularFileProblem) {
            return try RegularFile.bytes(of: path, limit: PEMIdentity.maximumTextSize + 1)
        } catch {
            throw .wrongInput("can't read “\(path)” (\(option)): \(error.reason) (\(error.remedy))")
        }
    }
}
