import ArgumentParser
import HTTPTransport
import ProfileFiles
import SquallTransfer
import TerminalDisplay

/// The TLS options of a transfer: trusted authorities and client certificate.
struct TLSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Trust the certificate authorities of this PEM file in place of the system's.",
            valueName: "file"
        ),
        completion: .file()
    )
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "A PEM file with the certificate, and its chain, for servers that ask for one.",
            valueName: "file"
        ),
        completion: .file()
    )
    var clientCert: String?

    @Option(
        help: ArgumentHelp("A PEM file with the private key of --client-cert.", valueName: "file"),
        completion: .file()
    )
    var clientKey: String?

    func validate() throws {
        try PEMFiles.check("--client", clientCert, clientKey)
    }

    /// The paths that are given.
    var paths: [String?] { [caFile, clientCert, clientKey] }

    /// The options that were given, as they were.
    var arguments: [String] {
        [("--ca-file", caFile), ("--client-cert", clientCert), ("--client-key", clientKey)].flatMap { name, value in
            value.map { [name, $0] } ?? []
        }
    }

    private var files: PEMFiles? { PEMFiles("--client", clientCert, clientKey) }

    /// What the files have.
    func texts() throws(CommandFailure) -> (authorities: [UInt8]?, identity: PEMIdentity?) {
        let authorities: [UInt8]? = if let caFile { try PEMFiles.text(of: caFile, "--ca-file") } else { nil }
        return (authorities, try files?.identity())
    }

    /// A problem of the files.
    func failure(_ problem: TLSSettingsProblem) -> CommandFailure {
        if problem == .unreadableAuthorities, let caFile { return .wrongInput("“\(caFile)” (--ca-file): \(problem)") }
        return files?.failure(problem) ?? .wrongInput("TLS can't be used: \(problem)")
    }

    /// The settings, after reading files.
    func settings() throws(CommandFailure) -> TransferTLS {
        let (authorities, identity) = try texts()
        var settings = TransferTLS()
        do throws(TLSSettingsProblem) {
            if let authorities { settings = try TransferTLS(authorities: authorities) }
            if let identity { try settings.identify(identity) }
        } catch {
            throw failure(error)
        }
        return settings
    }
}
