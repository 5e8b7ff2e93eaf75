import HTTPTypes
import Testing

@testable import TransferProtocol

@Suite struct UploadStateTests {
    private static let length: Int64 = 1_000_000

    private static func state(
        _ dialects: UploadFormatChoice = .automatic,
        isRepeatable: Bool = false
    ) throws -> UploadState {
        let target = try TransferURL("http://host.example/target")
        return UploadState(
            .init(target: target, length: length, dialects: dialects, isRepeatable: isRepeatable)
        )
    }

    private static func head(_ status: Int, _ fields: HTTPFields = [:]) -> UploadResponseHead {
        UploadResponseHead(status: status, fields: fields)
    }

    private static func plan(_ state: inout UploadState) -> UploadRequestPlan? {
        guard case .send(let plan) = state.nextStep(now: 0) else { return nil }
        return plan
    }

    /// A state whose creation got the URL `/uploads/1`.
    private static func created(_ dialect: UploadWireFormat, lifetime: Int64? = nil) throws -> UploadState {
        var state = try state(.only(dialect))
        var fields: HTTPFields = [
            .uploadDraftInteropVersion: dialect.interopVersion.description, .location: "/uploads/1",
        ]
        dialect.encode(UploadFields(limits: UploadLimits(lifetime: lifetime)), into: &fields)
        guard case .created = state.receivedInterimResponse(status: 104, fields: fields, of: .create(dialect), now: 0)
        else {
            throw UploadFieldsProblem()
        }
        return state
    }

    private struct UploadFieldsProblem: Error {}

    @Test(arguments: ["9", "4", "", "?1"])
    func `a 104 of another version is ignored`(version: String) throws {
        var state = try Self.state()
        let fields: HTTPFields = [.uploadDraftInteropVersion: version, .location: "/uploads/1"]
        #expect(state.receivedInterimResponse(status: 104, fields: fields, of: .create(.v10), now: 0) == .ignored)
        #expect(state.resource == nil)
    }

    @Test(arguments: UploadWireFormat.allCases)
    func `the offset is requested before anything is appended`(dialect: UploadWireFormat) throws {
        var state = try Self.created(dialect)
        #expect(state.attemptFailed(.create(dialect), sent: 5, .stalled) == .retry(after: nil, .stalled))
        let resource = try #require(state.resource)
        #expect(resource.url.text == "http://host.example/uploads/1")
        let ask = try #require(Self.plan(&state))
        #expect(ask == .retrieveOffset(resource))
        var fields = HTTPFields()
        dialect.encode(UploadFields(isComplete: false, offset: 7), into: &fields)
        #expect(state.decide(on: Self.head(204, fields), to: ask, sent: 0, now: 0) == .proceed)
        let append = UploadRequestPlan.append(resource, from: 7, count: Self.length - 7, isLast: true)
        #expect(Self.plan(&state) == append)
        #expect(state.decide(on: Self.head(409), to: append, sent: 0, now: 0) == .retryNow(.status(409)))
        #expect(Self.plan(&state) == ask)
    }

    @Test func `an offset below an acknowledged one ends the upload, which the server is to forget`() throws {
        var state = try Self.created(.v10)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        let ask = try #require(Self.plan(&state))
        for offset in [9, 8] as [Int64] {
            var fields = HTTPFields()
            UploadWireFormat.v10.encode(UploadFields(offset: offset), into: &fields)
            _ = state.decide(on: Self.head(204, fields), to: ask, sent: 0, now: 0)
        }
        let violation = UploadViolation.offsetWentBack(acknowledged: 9, got: 8)
        #expect(state.nextStep(now: 0) == .fail(.violation(violation)))
        #expect(state.removeAbandoned().count == 1)
        #expect(state.removeAbandoned().isEmpty)
    }

    @Test func `a 400 that names a version is answered in that version, once`() throws {
        var state = try Self.state()
        let refusal = Self.head(400, [.uploadDraftInteropVersion: "6"])
        #expect(state.decide(on: refusal, to: .create(.v10), sent: 0, now: 0) == .retryNow(.differentDialect(.v6)))
        #expect(Self.plan(&state) == .create(.v6))
        let back = Self.head(400, [.uploadDraftInteropVersion: "10"])
        #expect(state.decide(on: back, to: .create(.v6), sent: 0, now: 0) == .retryNow(.differentDialect(nil)))
        #expect(Self.plan(&state) == .create(nil))
    }

    @Test func `a successful response before everything was sent is no success`() throws {
        var state = try Self.state()
        _ = state.decide(on: Self.head(201), to: .create(.v10), sent: Self.length - 1, now: 0)
        #expect(state.nextStep(now: 0) == .fail(.respondedEarly(status: 201)))
    }

    @Test func `an upload that has expired isn't touched again`() throws {
        var state = try Self.created(.v10, lifetime: 60)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        let resource = try #require(state.resource)
        #expect(state.nextStep(now: 59) == .send(.retrieveOffset(resource)))
        #expect(state.nextStep(now: 60) == .send(.create(.v10)))
        #expect(state.restarts == 1)
    }

    @Test func `an upload that is gone after its last bytes were sent isn't sent again by a POST`() throws {
        var state = try Self.created(.v10)
        state.completionBegan()
        _ = state.attemptFailed(.create(.v10), sent: Self.length, .stalled)
        let ask = try #require(Self.plan(&state))
        _ = state.decide(on: Self.head(404), to: ask, sent: 0, now: 0)
        #expect(state.nextStep(now: 0) == .fail(.outcomeUnknown))
    }

    @Test(arguments: [("http://other.example/uploads/1", false), ("/uploads/1", true)])
    func `credentials go to the target's origin only`(location: String, isSent: Bool) throws {
        var state = try Self.state(.only(.v10))
        let fields: HTTPFields = [.uploadDraftInteropVersion: "10", .location: location]
        _ = state.receivedInterimResponse(status: 104, fields: fields, of: .create(.v10), now: 0)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        let ask = try #require(Self.plan(&state))
        let inFields = UploadMetadata(creationFields: [.authorization: "Bearer x", .contentType: "text/plain"])
        let credentials = RequestCredentials(fields: [try RequestField("Authorization: Bearer x")])
        for metadata in [
            inFields, UploadMetadata(creationFields: [.contentType: "text/plain"], credentials: credentials),
        ] {
            let (request, _) = state.request(for: ask, creation: .put, metadata)
            #expect(request.headerFields[.authorization] == (isSent ? "Bearer x" : nil))
            #expect(request.headerFields[.contentType] == nil)
            #expect(request.headerFields[.uploadOffset] == nil)
        }
        #expect(credentials.use(for: state.redirects(of: ask)) == (isSent ? .sent : .withheld))
    }

    @Test func `credentials don't follow a redirection to another origin, nor back`() throws {
        var state = try Self.state()
        let credentials = RequestCredentials(fields: [try RequestField("X-Key: k")])
        let metadata = UploadMetadata(credentials: credentials)
        var sent: [String?] = []
        for location in ["/here", "http://other.example/there", "http://host.example/back", "/here"] {
            let plan = UploadRequestPlan.create(.v10)
            let (request, _) = state.request(for: plan, creation: .put, metadata)
            sent.append(request.headerFields[HTTPField.Name("X-Key")!])
            #expect(state.decide(on: Self.head(307, [.location: location]), to: plan, sent: 0, now: 0) == .proceed)
        }
        #expect(sent == ["k", "k", nil, nil])
    }

    @Test(arguments: [401, 407], UploadWireFormat.allCases)
    func `a refusal of access ends the run, and the upload can be resumed`(status: Int, dialect: UploadWireFormat)
        throws
    {
        var state = try Self.created(dialect)
        _ = state.attemptFailed(.create(dialect), sent: 5, .stalled)
        let resource = try #require(state.resource)
        let field = status == 401 ? HTTPField.Name.wwwAuthenticate : .proxyAuthenticate
        let fields: HTTPFields = [field: "Basic realm=\"r\", Bearer"]
        for use in [CredentialUse.none, .sent, .withheld] {
            let head = UploadResponseHead(status: status, fields: fields, credentialUse: use)
            _ = state.decide(on: head, to: .retrieveOffset(resource), sent: 0, now: 0)
            guard case .fail(.unauthorized(let challenge, use)) = state.nextStep(now: 0) else {
                Issue.record("\(state)")
                return
            }
            #expect(challenge.schemes == ["Basic", "Bearer"])
            #expect(challenge.realm == "r")
            #expect(challenge.isFromProxy == (status == 407))
        }
        #expect(state.resource == resource)
        #expect(state.removeAbandoned().isEmpty)
    }

    @Test func `a field that an upload needs for itself isn't taken from the caller`() throws {
        for name in [
            "Upload-Offset", "upload-draft-interop-version", "Content-Type", "Repr-Digest", "Content-Range", "Host",
        ] {
            #expect(throws: RequestFieldProblem.reserved(name.lowercased())) {
                try RequestField("\(name): 5", isForUpload: true)
            }
        }
        #expect(throws: Never.self) { try RequestField("Content-Type: x") }
    }

    /// Secrets aren't sent over plain HTTP.
    @Test(arguments: [
        ("http", "https", true), ("https", "https", true), ("https", "http", false), ("http", "http", true),
    ])
    func `content goes from https to https only`(from: String, to: String, isFollowed: Bool) throws {
        let target = try TransferURL("\(from)://host.example/target")
        let parameters = UploadState.Parameters(target: target, length: 5, dialects: .only(.v10), isRepeatable: false)
        let location = "\(to)://other.example/x"
        var redirected = UploadState(parameters)
        _ = redirected.decide(on: Self.head(307, [.location: location]), to: .create(.v10), sent: 0, now: 0)
        #expect(redirected.nextStep(now: 0) == (isFollowed ? .send(.create(.v10)) : .fail(.redirection(status: 307))))
        var created = UploadState(parameters)
        let fields: HTTPFields = [.uploadDraftInteropVersion: "10", .location: location]
        _ = created.receivedInterimResponse(status: 104, fields: fields, of: .create(.v10), now: 0)
        #expect((created.resource != nil) == isFollowed)
    }

    @Test(arguments: [301, 302, 307, 308], [UploadFormatChoice.none, .only(.v10)])
    func `a creation is repeated where it is redirected to, but no POST that may become a GET`(
        status: Int,
        dialects: UploadFormatChoice
    ) throws {
        for isPost in [false, true] {
            let target = try TransferURL("http://host.example/target")
            var parameters = UploadState.Parameters(target: target, length: 5, dialects: dialects, isRepeatable: true)
            parameters.isPost = isPost
            var state = UploadState(parameters)
            let plan = try #require(Self.plan(&state))
            _ = state.decide(on: Self.head(status, [.location: "/x"]), to: plan, sent: 5, now: 0)
            let url = "http://host.example/x"
            let isFollowed = !isPost || status > 303
            #expect(state.nextStep(now: 0) == (isFollowed ? .send(plan) : .fail(.redirection(status: status, to: url))))
            #expect(state.creationURL.text == url || !isFollowed)
        }
    }

    @Test func `a Retry-After is passed on`() throws {
        var state = try Self.created(.v10)
        let action = state.decide(on: Self.head(503, [.retryAfter: "7"]), to: .create(.v10), sent: 1, now: 0)
        #expect(action == .retry(after: .seconds(7), .status(503)))
    }

    @Test func `redirections come to an end`() throws {
        var state = try Self.state()
        for _ in 0..<UploadState.maximumRedirects {
            #expect(state.decide(on: Self.head(307, [.location: "/x"]), to: .create(.v10), sent: 0, now: 0) == .proceed)
        }
        _ = state.decide(on: Self.head(307, [.location: "/x"]), to: .create(.v10), sent: 0, now: 0)
        #expect(state.nextStep(now: 0) == .fail(.redirection(status: 307)))
    }

    @Test func `a limit for a request below 1 KiB ends the upload, and 1 KiB doesn't`() throws {
        for (limit, isFailed) in [
            (UploadState.minimumAppendLimit - 1, true), (UploadState.minimumAppendLimit, false),
        ] {
            var state = try Self.state()
            var fields = HTTPFields()
            UploadWireFormat.v10.encode(UploadFields(limits: UploadLimits(maximumAppendSize: limit)), into: &fields)
            _ = state.decide(on: Self.head(413, fields), to: .create(.v10), sent: 0, now: 0)
            #expect(state.nextStep(now: 0) == (isFailed ? .fail(.appendLimitTooSmall(limit)) : .send(.reserve(.v10))))
        }
    }
}

@Suite struct UploadJournalRecordTests {
    private static func creation() throws -> UploadJournal.Creation {
        UploadJournal.Creation(
            target: "http://host.example/target",
            resource: UploadResource(
                url: try TransferURL("http://host.example/uploads/1"),
                dialect: .v6,
                expiresAt: 1_700_000_000
            ),
            source: UploadSource(length: 7, device: 1, inode: .max, modified: -1, changed: 3),
            sha256: Array(repeating: 9, count: 32)
        )
    }

    @Test func `a journal is read as it was written`() throws {
        let creation = try Self.creation()
        let record = UploadJournal.Record.creation(creation)
        let end = UploadJournal.Record.completionBegan
        #expect(try UploadJournal([(record.kind, record.payload)]) == UploadJournal(creation: creation))
        let full = try UploadJournal([(record.kind, record.payload), (9, [1]), (end.kind, end.payload)])
        #expect(full == UploadJournal(creation: creation, mayBeComplete: true))
    }

    /// The payload of version 1 has the interop version as a number, in place of a name after its length.
    @Test func `a journal of version 1 is read`() throws {
        let creation = try Self.creation()
        let payload = UploadJournal.Record.creation(creation).payload
        let name = Array("resumable-upload-6".utf8)
        let index = try #require(payload.indices.first { payload[$0...].starts(with: name) })
        let old = Array(payload[..<(index - 4)]) + [6, 0, 0, 0] + Array(payload[(index + name.count)...])
        #expect(try UploadJournal([(1, old), (2, [])]) == UploadJournal(creation: creation, mayBeComplete: true))
    }

    @Test func `a journal of an unknown dialect is refused by its name`() throws {
        var payload = UploadJournal.Record.creation(try Self.creation()).payload
        let index = try #require(payload.indices.first { payload[$0...].starts(with: "load-6".utf8) })
        payload[index + 5] = UInt8(ascii: "7")
        #expect(throws: UploadJournalProblem.unknownDialect("resumable-upload-7")) { try UploadJournal([(3, payload)]) }
    }

    @Test func `before the creation is complete there is no journal`() throws {
        let record = UploadJournal.Record.creation(try Self.creation())
        #expect(throws: UploadJournalProblem.damaged) { try UploadJournal([]) }
        #expect(throws: UploadJournalProblem.damaged) { try UploadJournal([(2, []), (record.kind, record.payload)]) }
        for count in record.payload.indices {
            #expect(throws: UploadJournalProblem.damaged, "\(count)") {
                try UploadJournal([(record.kind, Array(record.payload.prefix(count)))])
            }
        }
    }
}
