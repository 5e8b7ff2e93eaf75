import HTTPTypes
import Testing

@testable import TransferProtocol

/// What a run journals about an upload resource.
@Suite struct UploadResourceTests {
    private static let length: Int64 = 1_000_000

    private static func state(_ dialect: UploadWireFormat) throws -> UploadState {
        let target = try TransferURL("http://host.example/target")
        return UploadState(.init(target: target, length: length, dialects: .only(dialect), isRepeatable: true))
    }

    private static func head(_ status: Int, _ fields: HTTPFields = [:]) -> UploadResponseHead {
        UploadResponseHead(status: status, fields: fields)
    }

    private static func fields(_ reported: UploadFields, _ dialect: UploadWireFormat, location: String? = nil)
        -> HTTPFields
    {
        var fields = HTTPFields()
        dialect.encode(reported, into: &fields)
        fields[.location] = location
        return fields
    }

    /// A state that knows `/uploads/1` and retrieves the offset, at second 0.
    private static func asking(_ dialect: UploadWireFormat) throws -> (UploadState, UploadRequestPlan) {
        var state = try state(dialect)
        var fields = fields(UploadFields(limits: UploadLimits(lifetime: 1_000)), dialect, location: "/uploads/1")
        fields[.uploadDraftInteropVersion] = dialect.interopVersion.description
        _ = state.receivedInterimResponse(status: 104, fields: fields, of: .create(dialect), now: 0)
        _ = state.attemptFailed(.create(dialect), sent: 5, .stalled)
        guard case .send(let plan) = state.nextStep() else { throw NoRequest() }
        return (state, plan)
    }

    private struct NoRequest: Error {}

    @Test func `the resource of a 104 is kept at once, that of a final response before the next request`() throws {
        var (informed, _) = try Self.asking(.v10)
        #expect(informed.resourceToPersist() == nil)
        var state = try Self.state(.v10)
        let created = Self.fields(UploadFields(isComplete: false), .v10, location: "/uploads/1")
        #expect(state.decide(on: Self.head(201, created), to: .reserve(.v10), sent: 0, now: 0) == .proceed)
        #expect(state.resourceToPersist()?.url.text == "http://host.example/uploads/1")
        #expect(state.resourceToPersist() == nil)
    }

    /// The expiry time in a `HEAD` response at second 10, against 1,000 in the journal.
    @Test(arguments: [(989, false), (990, false), (1_049, false), (1_050, true), (900, true)] as [(Int64, Bool)])
    func `another time of the end is kept when it differs by a minute`(lifetime: Int64, isKept: Bool) throws {
        var (state, ask) = try Self.asking(.v10)
        let reported = UploadFields(isComplete: false, offset: 7, limits: UploadLimits(lifetime: lifetime))
        #expect(state.decide(on: Self.head(204, Self.fields(reported, .v10)), to: ask, sent: 0, now: 10) == .proceed)
        #expect(state.resourceToPersist()?.expiresAt == (isKept ? 10 + lifetime : nil))
    }

    /// A status of `HEAD`, the time, and whether the upload restarts, which was to end at 1,000; `nil` for another `HEAD`.
    @Test(
        arguments: [
            (403, 1_000, true), (400, 1_000, true), (405, 1_001, true), (403, 999, false), (503, 1_000, nil),
            (429, 1_000, nil),
        ] as [(Int, Int64, Bool?)]
    )
    func `an upload that is refused after its end restarts`(status: Int, now: Int64, isOver: Bool?) throws {
        let (state, ask) = try Self.asking(.v10)
        for run in [state, UploadState(state.parameters, resuming: ask.resource)] {
            var run = run
            let action = run.decide(on: Self.head(status), to: ask, sent: 0, now: now)
            switch isOver {
            case true?:
                #expect(action == .retryNow(.uploadExpired))
                #expect(run.nextStep() == .send(.create(.v10)))
            case false?: #expect(run.nextStep() == .fail(.uploadRefused(status: status)))
            case nil: #expect(run.nextStep() == .send(ask))
            }
            #expect(run.restarts == (isOver == true ? 1 : 0))
        }
    }

    @Test func `an upload that outlives its announced end is continued, by a later run as well`() throws {
        let (state, ask) = try Self.asking(.v10)
        let resource = try #require(ask.resource)
        let fields = Self.fields(UploadFields(isComplete: false, offset: 7), .v10)
        for run in [state, UploadState(state.parameters, resuming: resource)] {
            var run = run
            #expect(run.nextStep() == .send(ask))
            #expect(run.decide(on: Self.head(204, fields), to: ask, sent: 0, now: 2_000) == .proceed)
            #expect(run.nextStep() == .send(.append(resource, from: 7, count: Self.length - 7, isLast: true)))
        }
    }

    @Test func `a resource that has urlChanged is kept, and one that is done isn't`() throws {
        var (state, ask) = try Self.asking(.v10)
        #expect(state.decide(on: Self.head(308, [.location: "/other/1"]), to: ask, sent: 0, now: 0) == .proceed)
        #expect(state.resourceToPersist()?.url.text == "http://host.example/other/1")
        var (gone, again) = try Self.asking(.v10)
        #expect(gone.decide(on: Self.head(308, [.location: "/other/1"]), to: again, sent: 0, now: 0) == .proceed)
        guard case .send(let urlChanged) = gone.nextStep() else { throw NoRequest() }
        #expect(gone.decide(on: Self.head(403), to: urlChanged, sent: 0, now: 0) == .proceed)
        #expect(gone.resourceToPersist() == nil)
    }

    @Test func `a resource of an earlier run is in the journal`() throws {
        let (state, ask) = try Self.asking(.v10)
        var later = UploadState(state.parameters, resuming: ask.resource)
        #expect(later.resourceToPersist() == nil)
    }

    @Test func `two resources for one creation end the upload`() throws {
        var state = try Self.state(.v10)
        let fields: HTTPFields = [.uploadDraftInteropVersion: "10", .location: "/uploads/1"]
        _ = state.receivedInterimResponse(status: 104, fields: fields, of: .reserve(.v10), now: 0)
        let other = Self.fields(UploadFields(isComplete: false), .v10, location: "/uploads/2")
        #expect(state.decide(on: Self.head(201, other), to: .reserve(.v10), sent: 0, now: 0) == .proceed)
        #expect(state.nextStep() == .fail(.violation(.locationChanged)))
        #expect(state.removeAbandoned().map(\.url.text) == ["http://host.example/uploads/1"])
    }

    @Test func `the target's own response may point anywhere`() throws {
        var state = try Self.state(.v10)
        let fields: HTTPFields = [.uploadDraftInteropVersion: "10", .location: "/uploads/1"]
        _ = state.receivedInterimResponse(status: 104, fields: fields, of: .create(.v10), now: 0)
        let final = Self.fields(UploadFields(isComplete: true), .v10, location: "/photos/7")
        #expect(state.decide(on: Self.head(201, final), to: .create(.v10), sent: Self.length, now: 0) == .proceed)
        #expect(state.nextStep() == .finish(UploadResult(status: 201, dialect: .v10)))
    }

    /// Drafts 03 to 05 flag such a response as complete.
    @Test(arguments: [UploadWireFormat.v5, .v6])
    func `the flag of a response to a slice is not believed where the draft has it wrong`(dialect: UploadWireFormat)
        throws
    {
        var (state, ask) = try Self.asking(dialect)
        let resource = try #require(ask.resource)
        let reported = UploadFields(isComplete: true, offset: 500_000)
        let slice = UploadRequestPlan.append(resource, from: 7, count: 499_993, isLast: false)
        let response = Self.head(201, Self.fields(reported, dialect))
        #expect(state.decide(on: response, to: slice, sent: 499_993, now: 0) == .proceed)
        #expect(state.nextStep() == .send(ask))
        #expect(state.removeAbandoned().isEmpty)
    }
}
