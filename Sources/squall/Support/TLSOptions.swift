import ArgumentParser
import HTTPTransport
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

    /// The settings, after reading files.
    func settings() throws(CommandFailure) -> TLSClientSettings {
        var settings = TLSClientSettings()
        if let caFile {
            let authorities = try TLSOptions.text(of: caFile, "--ca-file")
            do throws(TLSSettingsProblem) {
                settings = try TLSClientSettings(authorities: authorities)
            } catch {
                throw .wrongInput("“\(caFile)” (--ca-file): \(error)")
            }
        }
        if let clientCert, let clientKey {
            settings.identity = try TLSOptions.identity(clientCert, "--client-cert", clientKey, "--client-key")
        }
        return settings
    }

    /// A certificate and its key, from two files.
    static func identity(
        _ certificate: String,
        _ certificateOption: String,
        _ key: String,
        _ keyOption: String
    ) throws(CommandFailure) -> TLSIdentity {
        let chain = try text(of: certificate, certificateOption)
        let secret = try CredentialOptions.secret(key, limit: TLSIdentity.maximumTextSize + 1, keyOption)
        do throws(TLSSettingsProblem) {
            return try TLSIdentity(certificates: chain, privateKey: secret)
        } catch {
            switch error {
            case .unreadableCertificate: throw .wrongInput("“\(certificate)” (\(certificateOption)): \(error)")
            case .unreadableKey: throw .wrongInput("“\(key)” (\(keyOption)): \(error)")
            case .keyMismatch, .unreadableAuthorities, .unavailable, .refused:
                throw .wrongInput("“\(certificate)” (\(certificateOption)) and “\(key)” (\(keyOption)): \(error)")
            }
        }
    }

    private static func text(of path: String, _ option: String) throws(CommandFailure) -> [UInt8] {
        do throws(RegularFileProblem) {
            return try RegularFile.bytes(of: path, limit: TLSIdentity.maximumTextSize + 1)
        } catch {
            throw .wrongInput("can't read “\(path)” (\(option)): \(error.reason) (\(error.remedy))")
        }
    }
}

extension TLSFailure {
    /// The remedy for a build without TLS.
    static let buildAdvice = "make build builds one that has it"

    /// The remedy on the command line, if any.
    var advice: String? {
        switch kind {
        case .untrusted: "name the authority that has signed it with --ca-file"
        case .hostnameMismatch: "use the name that the certificate is for in the URL"
        case .clientCertificate: "give the right one with --client-cert and --client-key"
        case .unavailable: TLSFailure.buildAdvice
        case .handshakeRefused, .truncated, .protocolError: nil
        }
    }
}
