import DevelopmentCA
import HTTPTransport
import HTTPTypes
import NIOSSL
import TLSTransport
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Transfers over TLS, and unverifiable servers.
@Suite(.timeLimit(.minutes(5))) struct TLSTests {
    private static let resource = Resource(size: 200_000)
    private let authority: DevelopmentCA

    init() throws { authority = try DevelopmentCA() }

    /// The identity of a server for `hosts`, optionally requiring a client certificate of this authority.
    private func server(_ hosts: String..., asks: Bool = false, newest: TLSVersion? = nil) throws -> NIOSSLContext {
        try authority.serverContext(for: hosts) { configuration in
            configuration.maximumTLSVersion = newest
            if newest != nil { configuration.minimumTLSVersion = .tlsv1 }
            guard asks else { return }
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(
                try NIOSSLCertificate.fromPEMBytes(Array(authority.certificate.utf8))
            )
        }
    }

    private func attempt(
        _ server: ScriptedServer,
        _ folder: Folder,
        _ settings: TLSClient,
        configure: (inout TransferClientConfiguration) -> Void = { _ in }
    ) async -> Attempted {
        await TransferClientTests.attempt(DownloadRequest(url: server.url()), to: folder.destination) {
            $0.tls = settings
            configure(&$0)
        }
    }

    @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
    func `a download resumes after a cut`(version: TLSVersion) async throws {
        let folder = try Folder()
        try await Script { request in
            request.ordinal == 0 ? Self.resource.serve(request, upTo: 70_000) : Self.resource.serve(request)
        }.serve(over: server("127.0.0.1", newest: version)) { server in
            let done = await attempt(server, folder, try authority.trusting())
            #expect(done.resumedAt == [70_000])
            #expect(folder.file == Self.resource.content)
        }
    }

    @Test func `a server of an authority that isn't trusted is final, is sent nothing, and leaves nothing`()
        async throws
    {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve(over: server("127.0.0.1")) { server in
            let other = try DevelopmentCA().trusting()
            for settings in [TLSClient(TLSClientSettings()), other] {
                let done = await attempt(server, folder, settings)
                #expect(done.tlsRefusal?.host == "127.0.0.1")
                #expect(done.tlsRefusal?.failure.kind == .untrusted)
                #expect(done.error?.disposition == .final)
                #expect(folder.names.isEmpty)
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: ["127.0.0.2", "localhost", "a.example"])
    func `a certificate for another name is refused`(name: String) async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve(over: server(name)) { server in
            let done = await attempt(server, folder, try authority.trusting())
            #expect(done.tlsRefusal?.failure.kind == .hostnameMismatch)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a certificate for the address of a name isn't one for the name`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve(over: server("127.0.0.1", "*.localhost", "::1")) { server in
            let settings = try authority.trusting()
            let url = "https://localhost:\(server.port)/file.bin"
            let done = await TransferClientTests.attempt(DownloadRequest(url: url), to: folder.destination) {
                $0.tls = settings
            }
            #expect(done.tlsRefusal?.host == "localhost")
            #expect(done.tlsRefusal?.failure.kind == .hostnameMismatch)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `the server is called by its name`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve(over: server("localhost")) { server in
            let settings = try authority.trusting()
            let url = "https://localhost:\(server.port)/file.bin"
            _ = await TransferClientTests.attempt(DownloadRequest(url: url), to: folder.destination) {
                $0.tls = settings
            }
            #expect(folder.file == Self.resource.content)
        }
    }

    @Test func `a server that requests a certificate gets it, and a refusal is permanent`() async throws {
        let folder = try Folder()
        for version in [TLSVersion.tlsv12, .tlsv13] {
            try await Script { Self.resource.serve($0) }.serve(over: server("127.0.0.1", asks: true, newest: version)) {
                server in
                let without = await attempt(server, folder, try authority.trusting())
                let expected: TLSFailure.Kind = version == .tlsv13 ? .clientCertificate : .handshakeRefused
                #expect(without.tlsRefusal?.failure.kind == expected, "\(without.result)")
                let done = await attempt(
                    server,
                    folder,
                    try authority.trusting(try authority.identity(for: ["somebody"]))
                )
                #expect(done.error == nil)
                #expect(folder.file == Self.resource.content)
            }
        }
    }

    @Test func `a body without a length is complete when TLS ends, not when the connection does`() async throws {
        let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n\r\n"
        let cut = try Folder()
        try await Script { request in
            [.text(head), .send(Array(Self.resource.content.prefix(100_000)))]
                + (request.ordinal == 0 ? [.sever] : [.stall])
        }.serve(over: server("127.0.0.1")) { server in
            let done = await attempt(server, cut, try authority.trusting()) {
                $0.stall.window = .seconds(2)
                $0.retry.maximumAttempts = 1
            }
            #expect(done.error?.disposition == .resumable)
            #expect(cut.file == nil)
            #expect(done.transientFailures.first?.description.contains("without the end that TLS has") == true)
        }
        let full = try Folder()
        try await Script { _ in [.text(head), .send(Self.resource.content)] }.serve(over: server("127.0.0.1")) {
            server in
            let done = await attempt(server, full, try authority.trusting())
            #expect(done.error == nil)
            #expect(full.file == Self.resource.content)
        }
    }

    @Test func `a complete body with a length needs no end of TLS`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) + [.sever] }.serve(over: server("127.0.0.1")) { server in
            let done = await attempt(server, folder, try authority.trusting())
            #expect(done.summary?.connections == 1)
            #expect(folder.file == Self.resource.content)
        }
    }

    @Test func `a handshake without a response is abandoned within the limit for connecting`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve { server in
            let url = server.url().replacing("http:", with: "https:")
            // This server never sees the end of a request.
            let done = await TransferClientTests.attempt(DownloadRequest(url: url), to: folder.destination) {
                $0.connectLimit = .milliseconds(300)
                $0.retry.maximumAttempts = 2
            }
            #expect(done.error == .gaveUp(.attempts(2), .connectTimedOut))
        }
    }

    @Test func `the time to connect is the deadline's too`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve { server in
            let url = server.url().replacing("http:", with: "https:")
            let done = await TransferClientTests.attempt(DownloadRequest(url: url), to: folder.destination) {
                $0.connectLimit = .seconds(200)
                $0.retry.deadline = .milliseconds(300)
            }
            #expect(done.error == .gaveUp(.deadline(.milliseconds(300)), .deadlineExceeded))
        }
    }

    @Test func `a redirection to https is followed, and from it to http without credentials`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve { plain in
            let target = plain.url("/elsewhere")
            try await Script { _ in [.head(302, ["Location: \(target)", "Content-Length: 0"])] }
                .serve(over: server("127.0.0.1")) { secure in
                    let settings = try authority.trusting()
                    let field = try RequestField("Authorization: Bearer hunter2")
                    let request = DownloadRequest(url: secure.url(), credentials: RequestCredentials(fields: [field]))
                    let done = await TransferClientTests.attempt(request, to: folder.destination) { $0.tls = settings }
                    #expect(done.error == nil)
                    #expect(folder.file == Self.resource.content)
                    #expect(secure.requests.map { $0.fields["authorization"] } == ["Bearer hunter2"])
                    #expect(plain.requests.map { $0.fields["authorization"] } == [nil])
                }
        }
    }

    @Test(arguments: [UploadServerKind.ordinary, .dialect(.v3), .dialect(.v10)])
    func `an upload resumes after cuts`(kind: UploadServerKind) async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 3 ? 150_000 : nil }
        habits.tls = try server("127.0.0.1")
        let bytes = testBytes(300_000)
        try await withUploadServer(kind, habits) { server in
            let folder = try UploadFolder(bytes)
            var request = folder.request(server.url)
            if case .dialect(let dialect) = kind { request.dialects = .only(dialect) }
            let settings = try authority.trusting()
            let done = await upload(folder, request) { $0.tls = settings }
            #expect(done.error == nil)
            #expect(server.delivered == [bytes])
            #expect(await upload(folder, request).tlsRefusal?.failure.kind == .untrusted)
        }
    }
}
