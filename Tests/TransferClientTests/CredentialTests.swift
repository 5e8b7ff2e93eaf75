import Synchronization
import TestStreams
import Testing
import TransferClient
import TransferProtocol

/// Credentials on the wire, in events and on the disk.
@Suite(.timeLimit(.minutes(5))) struct CredentialTests {
    private static let resource = Resource(size: 50_000)
    private static let secret = "hunter2"
    /// Base64 of ada:hunter2.
    private static let basic = "Basic YWRhOmh1bnRlcjI="

    private func credentials(_ lines: String...) throws -> RequestCredentials {
        let basic = try lines.isEmpty ? BasicCredentials(name: "ada", password: Self.secret) : nil
        return RequestCredentials(basic: basic, fields: try lines.map { try RequestField($0) })
    }

    private func expectNoSecret(_ done: Attempted, _ folder: Folder) {
        let texts = [String(reflecting: done.events), String(reflecting: done.error), done.error?.description ?? ""]
        let files = folder.names.compactMap { folder.bytes(folder.path + "/" + $0) }
        for secret in [Self.secret, "YWRhOmh1bnRlcjI"] {
            for text in texts { #expect(!text.contains(secret)) }
            for file in files { #expect(file.firstRange(of: Array(secret.utf8)) == nil) }
        }
    }

    @Test func `every request of a download carries the credentials, and nothing on disk does`() async throws {
        let folder = try Folder()
        try await Script { request in
            request.ordinal == 0 ? Self.resource.serve(request, upTo: 20_000) : Self.resource.serve(request)
        }.serve { server in
            let request = DownloadRequest(url: server.url(), credentials: try credentials())
            let done = await attempt(request, to: folder.destination)
            #expect(done.resumedAt == [20_000])
            #expect(server.requests.map { $0.fields["authorization"] } == [Self.basic, Self.basic])
            expectNoSecret(done, folder)
            #expect(!String(reflecting: request).contains(Self.secret))
        }
    }

    @Test func `a field replaces the client's own of that name, and leaves the others`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve { server in
            let credentials = try credentials("User-Agent: mine", "X-A: 1", "x-a: 2", "Authorization: Bearer hunter2")
            _ = await attempt(DownloadRequest(url: server.url(), credentials: credentials), to: folder.destination)
            let fields = try #require(server.requests.first?.fields)
            #expect(fields["user-agent"] == "mine")
            #expect(fields["authorization"] == "Bearer hunter2")
            #expect(fields["x-a"] == "2")
            #expect(fields["accept-encoding"] == "identity")
        }
    }

    @Test func `a redirection to another origin gets no credentials, and the next attempt goes there without any`()
        async throws
    {
        let folder = try Folder()
        try await Script { request in
            request.ordinal == 0 ? Self.resource.serve(request, upTo: 20_000) : Self.resource.serve(request)
        }.serve { other in
            let target = other.url("/elsewhere")
            try await Script { request in
                request.target == "/file.bin"
                    ? [.head(302, ["Location: /here", "Content-Length: 0"])]
                    : [.head(307, ["Location: \(target)", "Content-Length: 0"])]
            }.serve { server in
                let credentials = try credentials(
                    "Authorization: Bearer hunter2",
                    "Cookie: c=hunter2",
                    "X-Key: hunter2"
                )
                let done = await attempt(
                    DownloadRequest(url: server.url(), credentials: credentials),
                    to: folder.destination
                )
                #expect(folder.file == Self.resource.content)
                #expect(server.requests.map(\.target) == ["/file.bin", "/here"])
                for request in server.requests {
                    #expect(request.fields["authorization"] == "Bearer hunter2")
                    #expect(request.fields["cookie"] == "c=hunter2")
                }
                #expect(other.requests.count == 2)
                for request in other.requests { #expect(!request.fields.values.contains { $0.contains(Self.secret) }) }
                expectNoSecret(done, folder)
            }
        }
    }

    @Test(arguments: [false, true])
    func `a URL that another origin redirected to gets no credentials after a cut either`(inNewRun: Bool) async throws {
        let folder = try Folder()
        let back = Mutex("")
        try await Script { _ in [.head(302, ["Location: \(back.withLock { $0 })", "Content-Length: 0"])] }.serve {
            other in
            let target = other.url("/away")
            let count = Mutex(0)
            try await Script { request in
                guard request.target == "/back" else {
                    return [.head(302, ["Location: \(target)", "Content-Length: 0"])]
                }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 1 { return Self.resource.serve(request, upTo: 20_000) }
                if number == 2, inNewRun { return [.head(503, ["Content-Length: 0"])] }
                return Self.resource.serve(request)
            }.serve { server in
                back.withLock { $0 = server.url("/back") }
                let request = DownloadRequest(url: server.url(), credentials: try credentials())
                if inNewRun {
                    let first = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
                    #expect(first.error == .gaveUp(.attempts(1), .status(503)))
                }
                let done = await attempt(request, to: folder.destination)
                #expect(done.error == nil)
                #expect(folder.file == Self.resource.content)
                #expect(server.requests.map(\.target).allSatisfy { $0 == "/back" || $0 == "/file.bin" })
                for request in server.requests {
                    #expect(request.fields["authorization"] == (request.target == "/back" ? nil : Self.basic))
                }
                #expect(count.withLock { $0 } == (inNewRun ? 3 : 2))
                #expect(other.requests.count == 1)
            }
        }
    }

    @Test func `credentials are looked up for the host that a redirection leads to`() async throws {
        let folder = try Folder()
        let byHost = { @Sendable (host: String, _: Bool) in
            host == "localhost"
                ? try? BasicCredentials(name: "bob", password: "hunter3")
                : try? BasicCredentials(name: "ada", password: "hunter2")
        }
        try await Script { Self.resource.serve($0) }.serve { other in
            let target = "http://localhost:\(other.port)/elsewhere"
            try await Script { _ in [.head(302, ["Location: \(target)", "Content-Length: 0"])] }.serve { server in
                let request = DownloadRequest(url: server.url(), credentials: RequestCredentials(byHost: byHost))
                let done = await attempt(request, to: folder.destination)
                #expect(folder.file == Self.resource.content)
                #expect(server.requests.map { $0.fields["authorization"] } == [Self.basic])
                // Base64 of bob:hunter3.
                #expect(other.requests.map { $0.fields["authorization"] } == ["Basic Ym9iOmh1bnRlcjM="])
                expectNoSecret(done, folder)
            }
        }
    }

    @Test(arguments: [401, 407])
    func `credentials that expire midway keep the received bytes, and new ones resume`(status: Int)
        async throws
    {
        let folder = try Folder()
        let name = status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate"
        let challenge = "\(name): Bearer realm=\"\u{9B}31m\u{202E}files\", error=\"x\""
        try await Script { request in
            switch (request.ordinal, request.fields["authorization"]) {
            case (0, _): Self.resource.serve(request, upTo: 20_000)
            case (_, "Bearer new"): Self.resource.serve(request)
            default: [.head(status, [challenge, "Content-Length: 0"])]
            }
        }.serve { server in
            let old = DownloadRequest(url: server.url(), credentials: try credentials("Authorization: Bearer hunter2"))
            let first = await attempt(old, to: folder.destination)
            #expect(first.error?.disposition == .final)
            let message = try #require(first.error?.description)
            #expect(
                message.contains("\(status)") && message.contains("files”") && message.contains("(Bearer"),
                "\(message)"
            )
            #expect(!message.contains("\u{9B}") && !message.contains("\u{202E}"))
            #expect(
                message.contains(
                    status == 407 ? "takes none of what was sent" : "refuses the credentials that it was sent"
                )
            )
            #expect(folder.bytes(folder.part) == Array(Self.resource.content.prefix(20_000)))
            expectNoSecret(first, folder)
            let new = DownloadRequest(url: server.url(), credentials: try credentials("Authorization: Bearer new"))
            let second = await attempt(new, to: folder.destination)
            #expect(second.resumedAt == [20_000])
            #expect(folder.file == Self.resource.content)
        }
    }

    @Test func `a refusal says which credentials to give, or that they were withheld from another origin`()
        async throws
    {
        let folder = try Folder()
        try await Script { _ in [.head(401, ["WWW-Authenticate: Basic realm=\"r\"", "Content-Length: 0"])] }.serve {
            other in
            let bare = await attempt(DownloadRequest(url: other.url()), to: folder.destination)
            #expect(
                bare.error?.description
                    == "the server answered 401: it asks for credentials for “r” (Basic)"
            )
            try await Script { _ in [.head(302, ["Location: \(other.url())", "Content-Length: 0"])] }.serve { server in
                let request = DownloadRequest(url: server.url(), credentials: try credentials())
                let done = await attempt(request, to: folder.destination)
                #expect(done.error?.description.contains("isn't the one that they were given for") == true)
                #expect(folder.names.isEmpty)
            }
        }
    }

    /// A representation that depends on the credentials: strong validators distinguish the variants.
    @Test(arguments: ["\"v1\"", "\"v2\""])
    func `bytes of another user's file are joined only under one strong validator`(tag: String) async throws {
        var other = Resource(size: 50_000, seed: tag == "\"v1\"" ? 1 : 9)
        other.entityTag = tag
        let folder = try Folder()
        try await Script { [other] request in
            request.fields["authorization"] == "Bearer one"
                ? Self.resource.serve(request, interruptedAfter: 20_000) : other.serve(request)
        }.serve { [other] server in
            for token in ["one", "two"] {
                let credentials = try credentials("Authorization: Bearer \(token)")
                let done = await attempt(
                    DownloadRequest(url: server.url(), credentials: credentials),
                    to: folder.destination
                ) { $0.retry.maximumAttempts = 1 }
                if token == "two" { #expect(done.resumedAt == (tag == "\"v1\"" ? [20_000] : [])) }
            }
            #expect(folder.file == other.content)
        }
    }

    @Test(arguments: ["http://u:hunter2@127.0.0.1/x", "http://u@127.0.0.1/x", "//u:hunter2@127.0.0.1/x"])
    func `no credentials are taken from a Location`(location: String) async throws {
        let (done, _, _) = try await download { _ in [.head(302, ["Location: \(location)", "Content-Length: 0"])] }
        guard case .invalidRedirection(_, .userInformation) = done.error else {
            Issue.record("\(String(describing: done.error))")
            return
        }
        #expect(done.error?.description.contains("hunter2") == false)
    }
}
