import HTTPTransport
import TransferClient
import TransferProtocol

/// Command-line advice for failed transfers; the library doesn't know the options.
extension TransferError {
    /// The error and its remedy on the command line.
    package var sentence: String { advice.map { "\(description); \($0)" } ?? description }

    private var advice: String? {
        switch self {
        case .invalidURL(_, .userInformation): "give it with --user where the command has that"
        case .fileSystem("mkdir", _, _):
            "unfinished uploads are kept there: name another folder with --state or SQUALL_STATE"
        case .locked: "wait for it, or choose another destination"
        case .fileSystem(_, _, .noSpace), .fileSystem(_, _, .diskQuotaExceeded):
            "make room and run it again to continue"
        case .fileSystem("open", _, .noSuchFileOrDirectory): "check the path, and that its folder is there"
        case .fileSystem(_, _, .permissionDenied): "check the permissions of the file and its folder, or choose another"
        case .fileSystem(_, _, .tooManySymbolicLinkLevels): "replace the link, or choose another path"
        case .fileSystem(_, _, .fileNameTooLong): "choose a shorter name"
        case .refused(let refusal): refusal.advice
        case .tooManyRedirections: "check the URL"
        case .digestMissing: "name the right digest with --sha256"
        case .unproved: "name its digest with --sha256, or leave --require-proof out"
        case .gaveUp, .cancelled: "run it again to continue"
        case .tooManyRestarts: "run it again later"
        case .tlsRefused(let host, let failure): failure.advice(for: host)
        case .invalidTLSSettings(.unavailable): TLSFailure.buildAdvice
        case .invalidProxy: "--no-proxy asks servers directly"
        case .sourceChanged: "run it again to upload it anew"
        case .digestRejected: "upload it again"
        default: nil
        }
    }
}

extension TransferRefusal {
    fileprivate var advice: String? {
        switch self {
        case .unauthorized(let challenge, let use): challenge.advice(use)
        case .uploadRefused(_, let journal?): "run it again to continue, or remove “\(journal)” to start over"
        case .redirection(_, nil): "check the URL"
        case .redirection: "upload to that URL"
        case .status(405):
            "squall origin takes uploads with --uploads FOLDER, to names in that folder that don't begin with a dot"
        case .contentEncoding: "--store-coded does that, and curl --compressed decodes them"
        case .dialectRefused(let version?): "use --dialect \(version) or auto"
        case .dialectRefused(nil): "use --dialect auto"
        case .notRepeatable: "use --method PUT, or --repeatable where that is harmless"
        default: nil
        }
    }
}

extension HTTPChallenge {
    fileprivate func advice(_ use: CredentialUse) -> String {
        if isFromProxy { return "give them with --proxy http://NAME:PASSWORD@HOST:PORT" }
        return switch use {
        case .none: "give them with --user, --netrc or --header"
        case .sent: "check them, and run it again"
        case .withheld: "name its own URL, or its host in a .netrc"
        }
    }
}

extension TLSFailure {
    /// The remedy for a build without TLS.
    package static let buildAdvice = "make build builds one that has it"

    private func isAddress(_ host: String) -> Bool {
        host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
    }

    /// The remedy on the command line, if any.
    fileprivate func advice(for host: String) -> String? {
        switch kind {
        case .untrusted:
            "name the authority that has signed it with --ca-file"
                // The library finds no address in what an authority of Squall's signs for.
                + (isAddress(host) ? "; if it is Squall's, write a name such as localhost for the address" : "")
        case .invalidName: "use another name of the host"
        case .hostnameMismatch: "use the name that the certificate is for in the URL"
        case .clientCertificate: "give the right one with --client-cert and --client-key"
        case .unavailable: TLSFailure.buildAdvice
        case .handshakeRefused, .truncated, .protocolError: nil
        }
    }
}
