import SquallTransfer
import Synchronization
import TestSockets
import TestStreams
import Testing

/// The callbacks of a session: credentials, replacement URLs, and response checks.
@Suite(.timeLimit(.minutes(5))) struct ChallengeTests {
    private static let content = testBytes(300_000)
    private static let refusal =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"files\"\r\nContent-Length: 0\r\n\r\n"

    /// A server that serves the file for `token`, and reports each refusal.
    private static func server(
        _ token: String,
        refused: @escaping @Sendable () -> Void = {}
    ) -> ScriptedServer {
        ScriptedServer { _, head, socket in
            guard head.contains("\r\nAuthorization: Bearer \(token)\r\n") else {
                try socket.send(Array(refusal.utf8))
                return refused()
            }
            let fields = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(content.count)\r\n\r\n"
            try socket.send(Array(fields.utf8) + content)
        }
    }

    @Test func `transfers that are refused together call the authenticator once`() async throws {
        let (refusals, signal) = AsyncStream<Void>.makeStream()
        let server = Self.server("fresh") { signal.yield() }
        let requested = Mutex<[TransferChallenge]>([])
        var configuration = TransferConfiguration()
        configuration.authenticator = { challenge in
            requested.withLock { $0.append(challenge) }
            // The other transfers are refused meanwhile.
            var iterator = refusals.makeAsyncIterator()
            for _ in 0..<8 { await iterator.next() }
            return .bearer("fresh")
        }
        let session = TransferSession(configuration: configuration)
        let folder = try Folder()
        let transfers = (0..<8).map { number in
            var request = TransferRequest(server.url + "/file.bin")
            request.credentials = .bearer("stale")
            return session.download(for: request, to: folder.file("\(number).bin"))
        }
        for transfer in transfers { _ = try await transfer.value }
        for number in 0..<8 { #expect(folder.bytes(of: "\(number).bin") == Self.content) }
        let challenges = requested.withLock { $0 }
        #expect(challenges.count == 1)
        #expect(challenges.first?.schemes == ["Bearer"])
        #expect(challenges.first?.realm == "files")
        #expect(challenges.first?.wereCredentialsSent == true)
        // A later one is refused once and gets the cached credentials.
        var late = TransferRequest(server.url + "/file.bin")
        late.credentials = .bearer("stale")
        _ = try await session.download(for: late, to: folder.file("late.bin")).value
        #expect(requested.withLock { $0.count } == 1)
    }

    @Test func `remembered credentials that are refused are requested again`() async throws {
        let credentials = Mutex(["first", "second"])
        let server = Self.server("second")
        var configuration = TransferConfiguration()
        configuration.authenticator = { _ in
            credentials.withLock { credentials in credentials.isEmpty ? nil : .bearer(credentials.removeFirst()) }
        }
        let folder = try Folder()
        let session = TransferSession(configuration: configuration)
        _ = try await session.download(for: TransferRequest(server.url), to: folder.file("a.bin")).value
        #expect(credentials.withLock { $0.isEmpty })
        let (data, response) = try await session.data(for: TransferRequest(server.url))
        #expect(response.status == 200)
        #expect(data == Self.content)
    }

    @Test func `refused credentials that were remembered aren't counted as the caller's`() async throws {
        let credentials = Mutex(["first", "second"])
        let server = Self.server("second")
        var configuration = TransferConfiguration()
        configuration.authenticator = { challenge in
            guard challenge.previousRefusals == 0 else { return nil }
            return credentials.withLock { credentials in credentials.isEmpty ? nil : .bearer(credentials.removeFirst())
            }
        }
        let session = TransferSession(configuration: configuration)
        #expect(try await session.data(for: TransferRequest(server.url)).response.status == 401)
        #expect(try await session.data(for: TransferRequest(server.url)).response.status == 200)
        #expect(credentials.withLock { $0.isEmpty })
    }

    @Test func `a request's own authenticator isn't given what another transfer was`() async throws {
        let alice = Self.server("alice")
        var configuration = TransferConfiguration()
        configuration.authenticator = { _ in .bearer("alice") }
        let session = TransferSession(configuration: configuration)
        #expect(try await session.data(for: TransferRequest(alice.url)).response.status == 200)
        var request = TransferRequest(alice.url)
        let requested = Mutex(0)
        request.authenticator = { _ in
            requested.withLock { $0 += 1 }
            return .bearer("bob")
        }
        #expect(try await session.data(for: request).response.status == 401)
        #expect(requested.withLock { $0 } == 3)
    }

    @Test func `credentials from a callback replace a field of the request`() async throws {
        let server = Self.server("fresh")
        var request = TransferRequest(server.url)
        request.headers = [.authorization: "Bearer stale"]
        request.authenticator = { _ in .bearer("fresh") }
        #expect(try await TransferSession.shared.data(for: request).response.status == 200)
    }

    @Test(arguments: [true, false])
    func `a cancelled transfer doesn't wait for credentials, and cancels their request`(isShared: Bool)
        async throws
    {
        let server = Self.server("never")
        let (started, begin) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        let (silence, mute) = AsyncStream<Void>.makeStream()
        defer { mute.finish() }
        let ask: @Sendable (TransferChallenge) async -> TransferCredentials? = { _ in
            begin.yield()
            // It ends only when the task is cancelled.
            for await _ in silence {}
            end.yield()
            return nil
        }
        var configuration = TransferConfiguration()
        if isShared { configuration.authenticator = ask }
        var request = TransferRequest(server.url)
        if !isShared { request.authenticator = ask }
        let folder = try Folder()
        let transfer = TransferSession(configuration: configuration).download(for: request, to: folder.file("a.bin"))
        for await _ in started { break }
        #expect(await transfer.pause() != nil)
        for await _ in ended { break }
    }

    @Test func `a URL of another origin in the place of an expired one gets no credentials`() async throws {
        let heads = Mutex<[String]>([])
        let bucket = ScriptedServer { _, head, socket in
            heads.withLock { $0.append(head) }
            let fields = "HTTP/1.1 200 OK\r\nContent-Length: \(Self.content.count)\r\n\r\n"
            try socket.send(Array(fields.utf8) + Self.content)
        }
        let api = ScriptedServer("HTTP/1.1 403 Expired\r\nContent-Length: 0\r\n\r\n")
        var request = TransferRequest(api.url)
        request.credentials = .bearer("secret")
        request.headers = [.cookie: "session=secret"]
        request.urlRefresher = { _ in bucket.url + "/?signature=1" }
        let folder = try Folder()
        _ = try await TransferSession.shared.download(for: request, to: folder.file("a.bin")).value
        #expect(folder.bytes(of: "a.bin") == Self.content)
        #expect(heads.withLock { $0.count } >= 1)
        #expect(heads.withLock { $0.allSatisfy { !$0.contains("secret") } })
    }

    @Test func `a token keeps that an upload may be sent twice`() async throws {
        var request = TransferRequest("http://127.0.0.1:1/")
        request.isRepeatable = true
        request.delay = .seconds(3_600)
        let folder = try Folder()
        let paused = await TransferSession.shared.upload(for: request, from: folder.file("a.bin")).pause()
        let token = try #require(paused)
        #expect(try ResumptionToken(token.text).isRepeatable == true)
    }

    @Test func `the request's own authenticator is called, and without credentials the refusal is thrown`() async throws
    {
        let server = Self.server("none")
        let folder = try Folder()
        var configuration = TransferConfiguration()
        configuration.authenticator = { _ in
            Issue.record("the session's is requested")
            return nil
        }
        let session = TransferSession(configuration: configuration)
        var request = TransferRequest(server.url)
        request.authenticator = { _ in nil }
        do {
            _ = try await session.download(for: request, to: folder.file("a.bin")).value
            Issue.record("it succeeds")
        } catch let error as TransferError {
            #expect(error.code == .unauthorized)
            #expect(error.status == 401)
            #expect(error.token != nil)
        }
        // `data` returns any response, whatever its status.
        let (_, response) = try await session.data(for: request)
        #expect(response.status == 401)
    }

    @Test func `credentials of an authenticator that can't be sent end the request with the reason`() async throws {
        let server = Self.server("none")
        let folder = try Folder()
        for isShared in [true, false] {
            var configuration = TransferConfiguration()
            var request = TransferRequest(server.url)
            if isShared {
                configuration.authenticator = { _ in .bearer("two\nlines") }
            } else {
                request.authenticator = { _ in .basic(name: "a:b", password: "secret") }
            }
            let (session, final) = (TransferSession(configuration: configuration), request)
            var error = await #expect(throws: TransferError.self) { try await session.data(for: final) }
            #expect(error?.code == .invalidRequest)
            error = await #expect(throws: TransferError.self) {
                try await session.download(for: final, to: folder.file("a.bin")).value
            }
            let reason = isShared ? "the token has a control character" : "a name has no colon"
            #expect(error?.code == .invalidRequest && error?.message.contains(reason) == true)
        }
    }

    @Test func `a URL that has expired is replaced`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { url, _, _ in
            var request = TransferRequest(url + "/expired.bin")
            let requested = Mutex<[TransferRefusedURL]>([])
            request.urlRefresher = { refused in
                requested.withLock { $0.append(refused) }
                return url + "/file.bin"
            }
            let result = try await TransferSession.shared.download(for: request, to: mine.file("a.bin")).value
            #expect(mine.bytes(of: "a.bin") == Self.content)
            #expect(result.url == url + "/file.bin")
            #expect(requested.withLock { $0 } == [TransferRefusedURL(url: url + "/expired.bin", status: 404)])
        }
    }

    @Test func `a response can be declined`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { url, _, _ in
            var request = TransferRequest(url + "/file.bin")
            request.onResponse = { response in
                (Int(response["Content-Length"] ?? "") ?? 0) > 100_000 ? .cancel : .allow
            }
            let transfer = TransferSession.shared.download(for: request, to: mine.file("a.bin"))
            await #expect(throws: TransferError.self) { try await transfer.value }
            #expect(transfer.status.phase == .cancelled)
            #expect(mine.bytes(of: "a.bin") == nil)
            do {
                _ = try await TransferSession.shared.data(for: request)
                Issue.record("it succeeds")
            } catch let error as TransferError {
                #expect(error.code == .cancelled)
            }
            request.onResponse = { _ in .allow }
            let (data, _) = try await TransferSession.shared.data(for: request)
            #expect(data == Self.content)
        }
    }

    @Test func `a body is saved to a file that gets its name once it is complete`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { url, _, _ in
            let (body, _) = try await TransferSession.shared.bytes(for: TransferRequest(url + "/file.bin"))
            #expect(try await body.save(to: mine.file("a.bin")) == 300_000)
            #expect(mine.names == ["a.bin"])
            #expect(mine.bytes(of: "a.bin") == Self.content)
        }
        let short = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        let (cut, _) = try await TransferSession.shared.bytes(for: TransferRequest(short.url))
        await #expect(throws: TransferError.self) { try await cut.save(to: mine.file("a.bin")) }
        #expect(mine.bytes(of: "a.bin") == Self.content)
        #expect(mine.names == ["a.bin"])
        let again = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwhole")
        let (other, _) = try await TransferSession.shared.bytes(for: TransferRequest(again.url))
        do {
            try await other.save(to: mine.path)
            Issue.record("a folder is replaced")
        } catch let error as TransferError {
            #expect(error.code == .invalidFile)
        }
    }

    @Test func `a body that is cancelled ends`() async throws {
        let server = ScriptedServer { _, _, socket in
            try socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".utf8))
            _ = try? socket.receive(1)
        }
        let (body, _) = try await TransferSession.shared.bytes(for: TransferRequest(server.url))
        var iterator = body.makeAsyncIterator()
        #expect(try await iterator.next() == UInt8(ascii: "h"))
        body.cancel()
        await #expect(throws: TransferError.self) { while try await iterator.next() != nil {} }
    }

    @Test func `a transfer begins after its delay, and can be cancelled before`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { url, _, _ in
            var request = TransferRequest(url + "/file.bin")
            request.delay = .milliseconds(200)
            let start = ContinuousClock.now
            let transfer = TransferSession.shared.download(for: request, to: mine.file("a.bin"))
            var phases: [TransferStatus.Phase] = []
            for try await status in transfer { phases.append(status.phase) }
            #expect(ContinuousClock.now - start >= .milliseconds(200))
            #expect(phases.first == .waiting)
            #expect(phases.last == .finished)
            request.delay = .seconds(3_600)
            let token = await TransferSession.shared.download(for: request, to: mine.file("b.bin")).pause()
            #expect(token?.url == request.url)
        }
    }

    @Test func `proxies are read, and a mistake says what a proxy looks like`() throws {
        _ = try TransferProxies("http://ada:secret@proxy.example:3128", exceptions: "localhost,.example.com")
        for text in ["", "socks5://proxy:1080", "http://proxy/path"] {
            do {
                _ = try TransferProxies(text)
                Issue.record("\(text) is taken")
            } catch let error as TransferError {
                #expect(error.code == .invalidRequest)
                #expect(error.message.contains("http"))
            }
        }
        #expect(!String(reflecting: try TransferProxies("ada:secret@proxy")).contains("secret"))
    }
}
