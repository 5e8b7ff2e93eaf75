import HTTPTransport
import LocalAuthority
import NIOSSL

extension LocalAuthority {
    /// The server side of TLS with a certificate for `hosts`.
    func serverContext(
        for hosts: [String] = ["127.0.0.1"],
        configure: (inout TLSConfiguration) throws -> Void = { _ in }
    ) throws -> NIOSSLContext {
        let texts = try texts(for: hosts)
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(texts.certificate.utf8))
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(texts.key.utf8), format: .pem))
        )
        try configure(&configuration)
        return try NIOSSLContext(configuration: configuration)
    }

    /// Client settings that trust this authority and present `identity`.
    func trusting(_ identity: TLSIdentity? = nil) throws -> TLSClientSettings {
        var settings = try TLSClientSettings(authorities: Array(certificate.utf8))
        settings.identity = identity
        return settings
    }
}
