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
        guard case .send(let plan) = state.nextStep() else { return nil }
        return plan
    }

    /// A state whose creation got the URL `/uploads/1`.
    private static func created(_ dialect: UploadWireFormat) throws -> UploadState {
        var state = try state(.only(dialect))
        let fields: HTTPFields = [
            .uploadDraftInteropVersion: dialect.interopVersion.description, .location: "/uploads/1",
        ]
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
        #expect(state.nextStep() == .fail(.violation(violation)))
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
        #expect(state.nextStep() == .fail(.respondedEarly(status: 201)))
    }

    @Test func `an upload that is gone after its last bytes were sent isn't sent again by a POST`() throws {
        var state = try Self.created(.v10)
        state.completionBegan()
        _ = state.attemptFailed(.create(.v10), sent: Self.length, .stalled)
        let ask = try #require(Self.plan(&state))
        _ = state.decide(on: Self.head(404), to: ask, sent: 0, now: 0)
        #expect(state.nextStep() == .fail(.outcomeUnknown))
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

    /// The next request with an `X-Key` of the caller: its URL, and the key.
    private static func sent(_ state: inout UploadState) throws -> [String?] {
        let next = try #require(plan(&state))
        let credentials = RequestCredentials(fields: [try RequestField("X-Key: k")])
        let (request, url) = state.request(for: next, creation: .put, UploadMetadata(credentials: credentials))
        return [url.text, request.headerFields[try #require(HTTPField.Name("X-Key"))]]
    }

    /// What a later run makes of the journal.
    private static func later(_ state: UploadState) throws -> UploadState {
        let creation = UploadJournal.Creation(
            target: state.target.text,
            resource: try #require(state.resource),
            source: UploadSource(length: length, device: 1, inode: 1, modified: 1, changed: 1),
            sha256: Array(repeating: 9, count: 32)
        )
        let records = UploadJournal(creation: creation).records.map { ($0.kind, $0.payload) }
        return UploadState(state.parameters, resuming: try UploadJournal(records).creation.resource)
    }

    @Test(arguments: [307, 308])
    func `credentials don't go to a URL that a server of another origin chose`(status: Int) throws {
        let back = "http://host.example/account"
        let fields: HTTPFields = [.uploadDraftInteropVersion: "10", .location: "http://other.example/uploads/1"]
        var state = try Self.state(.only(.v10))
        _ = state.receivedInterimResponse(status: 104, fields: fields, of: .create(.v10), now: 0)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        let ask = try #require(Self.plan(&state))
        #expect(state.decide(on: Self.head(status, [.location: back]), to: ask, sent: 0, now: 0) == .proceed)
        #expect(try Self.sent(&state) == [back, nil])
        var later = try Self.later(state)
        #expect(try Self.sent(&later) == [status == 308 ? back : "http://other.example/uploads/1", nil])
    }

    @Test func `credentials don't go to an upload that a redirection's target named, in a later run neither`() throws {
        var state = try Self.state(.only(.v10))
        let there = Self.head(307, [.location: "http://other.example/there"])
        #expect(state.decide(on: there, to: .create(.v10), sent: 0, now: 0) == .proceed)
        let upload = "http://host.example/uploads/1"
        let fields: HTTPFields = [.uploadDraftInteropVersion: "10", .location: upload]
        _ = state.receivedInterimResponse(status: 104, fields: fields, of: .create(.v10), now: 0)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        #expect(try Self.sent(&state) == [upload, nil])
        var later = try Self.later(state)
        #expect(try Self.sent(&later) == [upload, nil])
    }

    @Test(arguments: [302, 307, 301, 308])
    func `only a permanent redirection of an upload is kept`(status: Int) throws {
        let (here, there) = ("http://host.example/uploads/1", "http://other.example/login")
        var state = try Self.created(.v10)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        let ask = try #require(Self.plan(&state))
        #expect(state.decide(on: Self.head(status, [.location: there]), to: ask, sent: 0, now: 0) == .proceed)
        #expect(try Self.sent(&state) == [there, nil])
        let isKept = status == 301 || status == 308
        #expect(state.resourceToPersist()?.url.text == (isKept ? there : nil))
        let again = try #require(Self.plan(&state))
        for failure in [nil, Self.head(200), Self.head(503)] {
            var state = state
            if let failure {
                _ = state.decide(on: failure, to: again, sent: 0, now: 0)
            } else {
                _ = state.attemptFailed(again, sent: 0, .stalled)
            }
            #expect(try Self.sent(&state) == (isKept ? [there, nil] : [here, "k"]))
        }
        // One behind a temporary one isn't the upload's.
        let next = Self.head(308, [.location: "http://third.example/"])
        #expect(state.decide(on: next, to: again, sent: 0, now: 0) == .proceed)
        #expect(try Self.sent(&state) == ["http://third.example/", nil])
        #expect(state.resource?.url.text == (isKept ? "http://third.example/" : here))
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
            guard case .fail(.unauthorized(let challenge, use)) = state.nextStep() else {
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

    /// The status of a request for the upload, and whether it is of the last bytes, all of which were sent.
    @Test(arguments: [403, 400, 405, 423], UploadWireFormat.allCases)
    func `an upload that a server refuses to continue is kept, but not where its target may have responded`(
        status: Int,
        dialect: UploadWireFormat
    ) throws {
        var asking = try Self.created(dialect)
        _ = asking.attemptFailed(.create(dialect), sent: 5, .stalled)
        let resource = try #require(asking.resource)
        let ask = try #require(Self.plan(&asking))
        var fields = HTTPFields()
        dialect.encode(UploadFields(isComplete: false, offset: 7), into: &fields)
        var appending = asking
        _ = appending.decide(on: Self.head(204, fields), to: ask, sent: 0, now: 0)
        let append = try #require(Self.plan(&appending))
        var flag = HTTPFields()
        dialect.encode(UploadFields(isComplete: true), into: &flag)
        for (state, plan, sent, fields, isKept) in [
            (asking, ask, 0, [:], true), (appending, append, 0, [:], true),
            (appending, append, Self.length - 7, [:], false), (appending, append, Self.length - 7, flag, false),
        ] as [(UploadState, UploadRequestPlan, Int64, HTTPFields, Bool)] {
            var state = state
            _ = state.decide(on: Self.head(status, fields), to: plan, sent: sent, now: 0)
            #expect(state.nextStep() == .fail(isKept ? .uploadRefused(status: status) : .status(status)))
            #expect(state.resource == (isKept ? resource : nil))
            #expect(state.removeAbandoned().isEmpty)
        }
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
        #expect(redirected.nextStep() == (isFollowed ? .send(.create(.v10)) : .fail(.redirection(status: 307))))
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
            #expect(state.nextStep() == (isFollowed ? .send(plan) : .fail(.redirection(status: status, to: url))))
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
        #expect(state.nextStep() == .fail(.redirection(status: 307)))
    }

    @Test func `redirections without progress between them come to an end, which keeps the upload`() throws {
        var state = try Self.created(.v10)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        let moved = Self.head(307, [.location: "/x"])
        func redirect(_ times: Int, _ state: inout UploadState) throws {
            for _ in 0..<times {
                let ask = try #require(Self.plan(&state))
                #expect(state.decide(on: moved, to: ask, sent: 0, now: 0) == .proceed)
            }
        }
        for offset in 1...11 as ClosedRange<Int64> {
            try redirect(1, &state)
            let ask = try #require(Self.plan(&state))
            var fields = HTTPFields()
            UploadWireFormat.v10.encode(UploadFields(isComplete: false, offset: offset), into: &fields)
            #expect(state.decide(on: Self.head(204, fields), to: ask, sent: 0, now: 0) == .proceed)
            let append = try #require(Self.plan(&state))
            #expect(state.decide(on: Self.head(204), to: append, sent: 1, now: 0) == .proceed)
        }
        try redirect(UploadState.maximumRedirects + 1, &state)
        #expect(state.nextStep() == .fail(.uploadRefused(status: 307)))
        #expect(state.resource?.url.text == "http://host.example/uploads/1")
        #expect(state.removeAbandoned().isEmpty)
    }

    /// A status of the offset retrieval or of the append after it; `nil` for a lost connection.
    @Test(arguments: [(503, false), (nil, false), (nil, true), (409, true), (503, true)] as [(Int?, Bool)])
    func `each attempt may follow the redirections of an upload`(status: Int?, isOfAppend: Bool) throws {
        var state = try Self.created(.v10)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        let ask = try #require(Self.plan(&state))
        var fields = HTTPFields()
        UploadWireFormat.v10.encode(UploadFields(isComplete: false, offset: 0), into: &fields)
        for _ in 0...UploadState.maximumRedirects {
            #expect(Self.plan(&state) == ask)
            #expect(state.decide(on: Self.head(307, [.location: "/x"]), to: ask, sent: 0, now: 0) == .proceed)
            var plan = try #require(Self.plan(&state))
            if isOfAppend {
                #expect(state.decide(on: Self.head(204, fields), to: plan, sent: 0, now: 0) == .proceed)
                plan = try #require(Self.plan(&state))
            }
            let action =
                if let status {
                    state.decide(on: Self.head(status), to: plan, sent: 0, now: 0)
                } else {
                    state.attemptFailed(plan, sent: 0, .stalled)
                }
            #expect(action != .proceed)
        }
    }

    @Test func `a redirection between the offset and the append comes to an end`() throws {
        var state = try Self.created(.v10)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        var fields = HTTPFields()
        UploadWireFormat.v10.encode(UploadFields(isComplete: false, offset: 7), into: &fields)
        for _ in 0...UploadState.maximumRedirects {
            let ask = try #require(Self.plan(&state))
            #expect(state.decide(on: Self.head(204, fields), to: ask, sent: 0, now: 0) == .proceed)
            let append = try #require(Self.plan(&state))
            #expect(state.decide(on: Self.head(307, [.location: "/x"]), to: append, sent: 0, now: 0) == .proceed)
        }
        #expect(state.nextStep() == .fail(.uploadRefused(status: 307)))
    }

    @Test func `a limit for a request below 1 KiB ends the upload, and 1 KiB doesn't`() throws {
        for (limit, isFailed) in [
            (UploadState.minimumAppendLimit - 1, true), (UploadState.minimumAppendLimit, false),
        ] {
            var state = try Self.state()
            var fields = HTTPFields()
            UploadWireFormat.v10.encode(UploadFields(limits: UploadLimits(maximumAppendSize: limit)), into: &fields)
            _ = state.decide(on: Self.head(413, fields), to: .create(.v10), sent: 0, now: 0)
            #expect(state.nextStep() == (isFailed ? .fail(.appendLimitTooSmall(limit)) : .send(.reserve(.v10))))
        }
    }
}
