import FoundationEssentials
import OperatingSystem
import ProfileFiles
import SystemPackage
import TerminalDisplay

/// The certificate of the authority of a run, in a file of a private folder, for clients to trust.
package struct TrustFile: Sendable {
    /// The path of the file.
    package let path: String
    /// The path of the folder.
    let folder: String
    private let certificate: String
    private let owner: String

    /// Writes the certificate in `TMPDIR` or `/tmp`.
    ///
    /// - Parameters:
    ///   - certificate: The certificate in PEM format.
    ///   - owner: What the authority belongs to, for the line “trust:”.
    package init(_ certificate: String, of owner: String) throws(CommandFailure) {
        let parent = UserFolders.temporary
        let start = parent.hasPrefix("/") ? "" : FileManager.default.currentDirectoryPath + "/"
        folder = "\(start)\(parent)/squall-\(String(UInt64.random(in: 1 << 60 ... .max), radix: 16))"
        path = "\(folder)/authority.pem"
        (self.certificate, self.owner) = (certificate, owner)
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o755]
            )
        } catch {
            throw TrustFile.failure(path, error)
        }
        do throws(CommandFailure) {
            try TrustFile.write(certificate.utf8, to: path)
        } catch {
            remove()
            throw error
        }
    }

    /// Makes a file that everybody may read. One that is there already is an error, for folders of several users.
    package static func write(_ bytes: some Sequence<UInt8>, to path: String) throws(CommandFailure) {
        do {
            let file = try FileDescriptor.open(
                FilePath(path),
                .writeOnly,
                options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead]
            )
            try file.closeAfter { _ = try file.writeAll(bytes) }
        } catch {
            throw failure(path, error)
        }
    }

    private static func failure(_ path: String, _ error: any Error) -> CommandFailure {
        .failed("can't write the certificate of the authority to “\(path)”: \(FileProblem.reason(error))")
    }

    /// Has a guard make the folder anew, which removes it even if this process is killed.
    package func guardFolder() async throws(CommandFailure) {
        remove()
        do {
            _ = try await GuardedCommand.start(folder: folder, guardedBy: ["guard", folder])
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        } catch {
            throw TrustFile.failure(folder, error)
        }
    }

    /// Removes the folder: the authority ends with the run.
    package func remove() { try? FileManager.default.removeItem(atPath: folder) }

    /// The lines that say how clients trust the authority.
    package var lines: [String] {
        [
            "trust: \(path) (the authority of \(owner); nothing is installed)",
            "  curl --cacert \(path) …",
            "  export SSL_CERT_FILE=\(path) REQUESTS_CA_BUNDLE=\(path) NODE_EXTRA_CA_CERTS=\(path)",
        ]
    }
}

extension TrustFile {
    /// The bundles of the system: of Debian and Alpine, of Fedora, of openSUSE.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    ]
    /// The variables that name a bundle. All but Node's replace the system's.
    private static let bundleVariables = [
        "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "GIT_SSL_CAINFO",
    ]
    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"
    private static let javaVariable = "JAVA_TOOL_OPTIONS"
    private static let javaOption = "-Djavax.net.ssl.trustStore="
    /// The most bytes of a bundle: 16 MiB.
    private static let bundleLimit = 16 << 20

    /// Writes the authorities of the system, those that the variables name, and this one into the folder, and returns the
    /// variables that have a command trust them.
    ///
    /// - Parameter environment: The variables of this process.
    package func variables(
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(CommandFailure) -> [String: String] {
        let system = TrustFile.systemBundles.first { FileManager.default.isReadableFile(atPath: $0) }
        var paths = system.map { [(name: "the system", path: $0)] } ?? []
        for name in TrustFile.bundleVariables {
            guard let path = environment[name], !path.isEmpty, !paths.contains(where: { $0.path == path }) else {
                continue
            }
            paths.append((name, path))
        }
        var certificates: [Substring] = []
        for (name, path) in paths {
            guard let text = FileManager.default.contents(atPath: path), text.count <= TrustFile.bundleLimit else {
                throw .wrongInput("can't read “\(path)”, which \(name) names: name a PEM file, or unset the variable")
            }
            certificates += TrustFile.certificates(of: String(decoding: text, as: UTF8.self))
        }
        certificates += TrustFile.certificates(of: certificate)
        let bundle = certificates.map { TrustFile.begin + $0 + TrustFile.end + "\n" }.joined()
        let path = "\(folder)/bundle.pem"
        try TrustFile.write(bundle.utf8, to: path)
        var variables = Dictionary(uniqueKeysWithValues: TrustFile.bundleVariables.map { ($0, path) })
        let java = environment[TrustFile.javaVariable] ?? ""
        if !java.contains(TrustFile.javaOption) {
            let store = "\(folder)/authorities.jks"
            try TrustFile.write(JavaTrustStore.bytes(of: certificates), to: store)
            // In quotes, of which Java takes either.
            let option = TrustFile.javaOption + (store.contains(" ") ? "'\(store)'" : store)
            variables[TrustFile.javaVariable] = java.isEmpty ? option : "\(java) \(option)"
        }
        return variables
    }
}

extension TrustFile {
    /// The certificates of a text in PEM format (RFC 7468), in base64, without what else it has, such as a private key.
    private static func certificates(of text: String) -> [Substring] {
        text.split(separator: begin).dropFirst(text.hasPrefix(begin) ? 0 : 1).compactMap { part in
            part.firstRange(of: end).map { part[..<$0.lowerBound] }
        }
    }
}

/// Java's own format of a file with trusted certificates (JKS), without a password.
enum JavaTrustStore {
    /// The store of certificates in base64. What isn't that is left out.
    static func bytes(of texts: [Substring]) -> [UInt8] {
        let certificates = texts.compactMap { Data(base64Encoded: String($0.filter { !$0.isWhitespace })) }
        var bytes = big(0xFEED_FEED) + big(2) + big(certificates.count)
        for (index, certificate) in certificates.enumerated() {
            // A trusted certificate, with its date of entry.
            bytes += big(2) + text16("\(index)") + big(0) + big(0)
            bytes += text16("X.509") + big(certificate.count) + certificate
        }
        // The digest over the password, which is checked only with one.
        return bytes + [UInt8](repeating: 0, count: 20)
    }

    private static func big(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func text16(_ text: String) -> [UInt8] { big(text.utf8.count)[2...] + Array(text.utf8) }
}
