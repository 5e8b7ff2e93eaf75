import Units

/// A file in PEM format with a certificate, those of its issuers, and its private key.
///
/// The key is in memory alone: profiles and journals name the file.
public struct CertificateFile: Sendable {
    /// The path of the file.
    public var file: String
    /// Its content: at most `ProfileLimits.certificateBytes`. That it can be parsed isn't known.
    public var content: [UInt8]

    /// Makes one of its parts.
    public init(file: String, content: [UInt8]) { (self.file, self.content) = (file, content) }
}

extension CertificateFile: Hashable {
    /// Hashes the path alone; files are long.
    public func hash(into hasher: inout Hasher) { hasher.combine(file) }
}

extension CertificateFile: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The path; nothing of the key.
    public var description: String { "CertificateFile(\(file))" }
    /// The same.
    public var debugDescription: String { description }
    /// No children, so that dumps don't show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ProfileDecoder {
    /// The file `path`, which starts from the folder of the file that says it.
    mutating func certificateFile(_ path: String, at place: SourcePlace) -> CertificateFile? {
        let full = ProfileReference.path(ofFile: path, in: file)
        switch resolve(.certificate(full)) {
        case .failure(let error):
            report(error.what, remedy: error.remedy, at: place, code: .notFound)
            return nil
        case .success(let source):
            let limit = ProfileLimits.certificateBytes
            if source.bytes.count > limit {
                let size = ByteCount(Int64(limit)).text
                report(
                    "the certificates have more than \(size)",
                    remedy: "leave out those that aren't needed",
                    at: place
                )
                return nil
            }
            let text = String(decoding: source.bytes, as: UTF8.self)
            for (words, what) in [("BEGIN CERTIFICATE", "certificate"), ("PRIVATE KEY-", "private key")]
            where !text.contains(words) {
                report(
                    "the file \(path.quoted) has no \(what) in PEM format",
                    remedy: "put the certificate, its chain and its key into one file: cat chain.pem key.pem",
                    at: place
                )
                return nil
            }
            return CertificateFile(file: full, content: source.bytes)
        }
    }
}
