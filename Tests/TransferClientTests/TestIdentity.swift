import DevelopmentCA
import HTTPTransport
import NIOSSL
import TLSTransport

extension DevelopmentCA {
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

    /// The client side of TLS that trusts this authority and presents `identity`.
    func trusting(_ identity: PEMIdentity? = nil, offersHTTP2: Bool = true) throws -> TLSClient {
        var settings = try TLSClientSettings(authorities: Array(certificate.utf8))
        settings.identity = try identity.map(TLSIdentity.init)
        settings.offersHTTP2 = offersHTTP2
        return TLSClient(settings)
    }
}
