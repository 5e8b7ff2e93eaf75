import DevelopmentCA
import HTTPTransport
import NIOSSL
import TLSTransport
import Testing

@Suite struct TLSIdentityTests {
    private let authority: DevelopmentCA
    private let texts: (certificate: String, key: String)

    init() throws {
        authority = try DevelopmentCA()
        texts = try authority.texts(for: ["localhost", "127.0.0.1", "::1"])
    }

    private func problem(_ certificate: String, _ key: String) -> TLSSettingsProblem? {
        do throws(TLSSettingsProblem) {
            _ = try TLSIdentity(PEMIdentity(certificates: Array(certificate.utf8), privateKey: Array(key.utf8)))
            return nil
        } catch {
            return error
        }
    }

    @Test func `a certificate with its key is taken, and the chain may follow`() {
        #expect(problem(texts.certificate, texts.key) == nil)
        #expect(problem(texts.certificate + authority.certificate, texts.key) == nil)
    }

    @Test func `an invalid certificate, an invalid key and a key that doesn't match are reported`() throws {
        for wrong in ["", "nothing", texts.key, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            #expect(problem(wrong, texts.key) == .unreadableCertificate, "\(wrong)")
        }
        for wrong in ["", "nothing", texts.certificate, String(texts.key.prefix(100))] {
            #expect(problem(texts.certificate, wrong) == .unreadableKey, "\(wrong)")
        }
        let other = problem(texts.certificate, try authority.texts(for: ["a"]).key)
        #expect(other == .keyMismatch, "\(String(describing: other))")
        #expect(
            problem(String(repeating: "x", count: PEMIdentity.maximumTextSize + 1), texts.key) == .unreadableCertificate
        )
    }

    /// An encrypted key (RFC 5958) with the passphrase “hunter2”.
    @Test func `a key with a passphrase is refused without a prompt`() {
        let key = """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjYyKqTwhpjvAICCAAw
            -----END ENCRYPTED PRIVATE KEY-----
            """
        #expect(problem(texts.certificate, key) == .unreadableKey)
    }

    @Test func `no text of an identity has anything of the key`() throws {
        let texts = try authority.identity(for: ["localhost"])
        let identity = try TLSIdentity(texts)
        for (value, name) in [(texts as Any, "PEMIdentity"), (identity as Any, "1 certificates")] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in [dumped, "\(value)", String(reflecting: value)] {
                #expect(!text.contains("PRIVATE") && !text.contains("45, 45, 45"))
                #expect(text.contains(name))
            }
        }
    }

    @Test func `authorities are read from a text, and a text without any is an error`() throws {
        #expect(throws: Never.self) { try TLSClientSettings(authorities: Array(authority.certificate.utf8)) }
        for wrong in ["", "nothing", texts.key] {
            #expect(throws: TLSSettingsProblem.unreadableAuthorities) {
                try TLSClientSettings(authorities: Array(wrong.utf8))
            }
        }
    }

    @Test(arguments: [
        ("127.0.0.1", [127, 0, 0, 1]), ("::1", [UInt8](repeating: 0, count: 15) + [1]),
        ("2001:db8::12:3", [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0, 3]),
        ("1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]), ("localhost", Array("localhost".utf8)),
    ])
    func `a certificate names addresses by their bytes, and names as they are`(host: String, bytes: [UInt8]) throws {
        let text = try authority.texts(for: [host]).certificate
        let certificate = try #require(try NIOSSLCertificate.fromPEMBytes(Array(text.utf8)).first)
        let names = certificate._subjectAlternativeNames()
        #expect(names.map { Array($0.contents) } == [bytes])
    }

    @Test func `errors that have nothing to do with TLS are none of its failures`() throws {
        #expect(TLSFailure(CancellationError()) == nil)
        let truncated = try #require(TLSFailure(NIOSSLError.uncleanShutdown))
        #expect(truncated.kind == .truncated)
        #expect(!truncated.isFinal)
        let name = try #require(TLSFailure(NIOSSLExtraError.failedToValidateHostname))
        #expect(name.kind == .hostnameMismatch)
        #expect(name.isFinal)
        let other = try #require(TLSFailure(NIOSSLExtraError.serverHostnameImpossibleToMatch))
        #expect(other.kind == .invalidName && other.isFinal)
        let key = try #require(TLSFailure(NIOSSLExtraError.unknownPrivateKeyFileType))
        #expect(!key.reason.isEmpty)
        let ended = try #require(TLSFailure(NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake]))))
        #expect(ended.kind == .protocolError)
        #expect(ended.description.contains("EOF during handshake"))
    }
}
