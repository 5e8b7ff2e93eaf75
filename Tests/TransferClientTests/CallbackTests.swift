import HTTPTypes
import Synchronization
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// The callbacks of a transfer: credentials, replacement URLs, and response checks.
@Suite(.timeLimit(.minutes(5))) struct CallbackTests {
    private static let resource = Resource(size: 100_000)
    private static let challenge = ["WWW-Authenticate: Bearer realm=\"files\"", "Content-Length: 0"]

    private static func bearer(_ token: String) -> RequestCredentials {
        let field = try? RequestField("Authorization: Bearer \(token)", isForUpload: true)
        return RequestCredentials(fields: field.map { [$0] } ?? [])
    }

    /// Returns the tokens one after the other, and then nothing.
    private final class Authenticator: Sendable {
        private let tokens: [String]
        private let requested = Mutex<[AttemptRefusal]>([])
        var questions: [AttemptRefusal] { requested.withLock { $0 } }

        init(_ tokens: String...) { self.tokens = tokens }

        var callbacks: TransferCallbacks {
            var callbacks = TransferCallbacks()
            callbacks.authenticate = { question in
                let index = self.requested.withLock { requested in
                    requested.append(question)
                    return requested.count - 1
                }
                return index < self.tokens.count ? CallbackTests.bearer(self.tokens[index]) : nil
            }
            return callbacks
        }
    }

    // MARK: - Credentials

    @Test func `a token that expires midway is refreshed, and the download resumes`() async throws {
        let authenticator = Authenticator("one", "two")
        let (done, folder, _) = try await download(callbacks: authenticator.callbacks) { request in
            let token = request.ordinal < 3 ? "Bearer one" : "Bearer two"
            guard request.fields["authorization"] == token else { return [.head(401, Self.challenge)] }
            return request.ordinal < 3 ? Self.resource.serve(request, upTo: 40_000) : Self.resource.serve(request)
        }
        #expect(done.error == nil)
        #expect(folder.file == Self.resource.content)
        let questions = authenticator.questions
        #expect(questions.map { $0.use == .sent } == [false, true])
        #expect(questions.map(\.previousRefusals) == [0, 0])
        #expect(questions.map(\.challenge?.schemes) == [["Bearer"], ["Bearer"]])
        #expect(questions.map(\.challenge?.realm) == ["files", "files"])
        #expect(done.resumedAt == [40_000, 60_000])
    }

    @Test func `credentials that are refused are requested at most 3 times in a row`() async throws {
        let authenticator = Authenticator("a", "b", "c", "d", "e")
        let (done, _, requests) = try await download(callbacks: authenticator.callbacks) { _ in
            [.head(401, Self.challenge)]
        }
        #expect(done.unauthorized?.use == .sent)
        #expect(authenticator.questions.map(\.previousRefusals) == [0, 1, 2])
        #expect(requests.count == 4)
    }

    @Test func `a challenge without an answer is the refusal`() async throws {
        let (done, _, requests) = try await download(callbacks: Authenticator().callbacks) { _ in
            [.head(401, Self.challenge)]
        }
        #expect(done.unauthorized?.use == CredentialUse.none)
        #expect(requests.count == 1)
    }

    @Test func `the callback isn't called for another origin`() async throws {
        let authenticator = Authenticator("secret")
        try await Script { _ in [.head(401, Self.challenge)] }.serve { other in
            let target = other.url()
            let (done, _, _) = try await download(callbacks: authenticator.callbacks) { _ in
                [.head(302, ["Location: \(target)", "Content-Length: 0"])]
            }
            #expect(done.error?.disposition == .final)
            #expect(authenticator.questions.isEmpty)
            #expect(other.requests.allSatisfy { $0.fields["authorization"] == nil })
        }
    }

    @Test(arguments: [UploadServerKind.ordinary, .dialect(.v3), .dialect(.v10)])
    func `an upload resumes with refreshed credentials`(kind: UploadServerKind) async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 == 1 ? 300_000 : nil }
        habits.refuse = { ordinal, fields in
            fields[.authorization] == (ordinal < 2 ? "Bearer one" : "Bearer two") ? nil : 401
        }
        let bytes = testBytes(700_000)
        let authenticator = Authenticator("one", "two")
        try await withUploadServer(kind, habits) { server in
            let folder = try UploadFolder(bytes)
            var request = folder.request(server.url)
            if case .dialect(let dialect) = kind { request.dialects = .only(dialect) }
            let done = await upload(folder, request, callbacks: authenticator.callbacks)
            #expect(done.error == nil)
            #expect(server.delivered == [bytes])
            #expect(authenticator.questions.map { $0.use == .sent } == [false, true])
            if kind != .ordinary { #expect(done.restarts.isEmpty) }
        }
    }

    // MARK: - URLs

    @Test(arguments: [400, 401, 403, 404, 410])
    func `an expired URL is replaced, and the download resumes there`(status: Int) async throws {
        let folder = try Folder()
        let requested = Mutex<[AttemptRefusal]>([])
        try await Script { request in
            let isFresh = request.target.hasSuffix("signature=2")
            guard isFresh || request.ordinal == 0 else { return [.head(status, ["Content-Length: 0"])] }
            return isFresh ? Self.resource.serve(request) : Self.resource.serve(request, upTo: 70_000)
        }.serve { server in
            var callbacks = TransferCallbacks()
            callbacks.refreshURL = { refused in
                requested.withLock { $0.append(refused) }
                return server.url("/file.bin?signature=2")
            }
            let done = await attempt(
                DownloadRequest(url: server.url("/file.bin?signature=1")),
                to: folder.destination,
                callbacks: callbacks
            )
            #expect(done.error == nil)
            #expect(folder.file == Self.resource.content)
            #expect(requested.withLock { $0.map(\.status) } == [status])
            #expect(requested.withLock { $0.first?.url.text.hasSuffix("signature=1") } == true)
            // The next range repeats the last received bytes, since the tag of another URL proves little.
            #expect(server.requests.last?.rangeStart == 70_000 - 65_536)
            #expect(done.restarts.isEmpty)
        }
    }

    @Test func `an invalid replacement URL fails, and keeps the received bytes`() async throws {
        var callbacks = TransferCallbacks()
        callbacks.refreshURL = { _ in "nonsense" }
        let (done, folder, _) = try await download(callbacks: callbacks) { request in
            request.ordinal == 0 ? Self.resource.serve(request, upTo: 50_000) : [.head(403, ["Content-Length: 0"])]
        }
        #expect(done.error == .invalidURL("nonsense", .noScheme))
        #expect(folder.bytes(folder.part)?.count == 50_000)
    }

    @Test func `an upload's target that has expired is replaced before the upload is created`() async throws {
        var habits = UploadServerHabits()
        habits.refuse = { ordinal, _ in ordinal == 0 ? 403 : nil }
        let bytes = testBytes(100_000)
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(bytes)
            var callbacks = TransferCallbacks()
            callbacks.refreshURL = { $0.url.text + "?signature=2" }
            let done = await upload(folder, folder.request(server.url), callbacks: callbacks)
            #expect(done.error == nil)
            #expect(server.delivered == [bytes])
            #expect(server.requests.map(\.path).last == "/target?signature=2")
        }
    }

    // MARK: - Responses

    @Test func `a response that isn't wanted ends a download before anything is thrown away`() async throws {
        var changed = Self.resource
        changed.entityTag = "\"v2\""
        let other = changed
        let seen = Mutex<[Int]>([])
        var callbacks = TransferCallbacks()
        callbacks.accepts = { response in
            seen.withLock { $0.append(response.status) }
            return response.fields[.eTag] == "\"v1\""
        }
        let (done, folder, _) = try await download(callbacks: callbacks) { request in
            switch request.ordinal {
            case 0: Self.resource.serve(request, upTo: 30_000)
            case 1: Self.resource.serve(request, upTo: 25_000)
            default: other.serve(request)
            }
        }
        #expect(done.error == .cancelled)
        #expect(seen.withLock { $0 } == [200, 200])
        #expect(folder.bytes(folder.part)?.count == 40_000)
    }

    @Test func `interim responses are reported`() async throws {
        let (done, _, _) = try await download { request in
            [.text("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")] + Self.resource.serve(request)
        }
        #expect(done.error == nil)
        let link = HTTPField.Name("Link").map { ($0, "</style.css>") }
        var fields: HTTPFields = [:]
        if let link { fields[link.0] = link.1 }
        #expect(done.events.contains(.interimResponse(status: 103, fields: fields)))
    }
}
