import HTTPSemantics
import HTTPTypes
import Testing
import TransferProtocol

/// The client's reaction to each status of an upload response, in the newest dialect.
@Suite struct UploadStatusTests {
    private static let length: Int64 = 1_000_000

    /// What a client does next.
    enum Next: Hashable {
        /// Retrieve the offset, immediately or after a delay.
        case offset(after: Duration? = nil, isImmediate: Bool)
        /// The same request, after a delay.
        case again(after: Duration? = nil)
        /// A new creation.
        case creation
        /// Retrieve the limits.
        case limits
        /// Nothing further.
        case failure(TransferRefusal)
    }

    private static func state(isRepeatable: Bool) throws -> UploadState {
        let target = try TransferURL("http://host.example/target")
        return UploadState(
            .init(target: target, length: length, dialects: .only(.v10), isRepeatable: isRepeatable)
        )
    }

    private static func head(
        _ status: Int,
        _ fields: HTTPFields = [:],
        _ problem: ProblemDetails? = nil
    ) -> UploadResponseHead {
        UploadResponseHead(status: status, fields: fields, problem: problem)
    }

    /// A state that appends from offset 7, and its request.
    private static func appending(isRepeatable: Bool = true) throws -> (UploadState, UploadRequestPlan) {
        var (state, ask) = try asking(isRepeatable: isRepeatable)
        var fields = HTTPFields()
        UploadWireFormat.v10.encode(UploadFields(isComplete: false, offset: 7), into: &fields)
        _ = state.decide(on: head(204, fields), to: ask, sent: 0, now: 0)
        return (state, try plan(&state))
    }

    /// A state that retrieves the offset, and its request.
    private static func asking(isRepeatable: Bool = true) throws -> (UploadState, UploadRequestPlan) {
        var state = try state(isRepeatable: isRepeatable)
        let fields: HTTPFields = [.uploadDraftInteropVersion: "10", .location: "/uploads/1"]
        _ = state.receivedInterimResponse(status: 104, fields: fields, of: .create(.v10), now: 0)
        _ = state.attemptFailed(.create(.v10), sent: 5, .stalled)
        return (state, try plan(&state))
    }

    private struct NoRequest: Error {}

    private static func plan(_ state: inout UploadState) throws -> UploadRequestPlan {
        guard case .send(let plan) = state.nextStep() else { throw NoRequest() }
        return plan
    }

    private static func next(_ state: inout UploadState, _ action: UploadAction, after sent: UploadRequestPlan) -> Next?
    {
        var wait: Duration?
        var isImmediate = true
        if case .retry(let after, _) = action { (wait, isImmediate) = (after, false) }
        switch state.nextStep() {
        case .send(sent): return .again(after: wait)
        case .send(.retrieveOffset): return .offset(after: wait, isImmediate: isImmediate)
        case .send(.create): return .creation
        case .send(.discoverLimits): return .limits
        case .fail(let failure): return .failure(failure)
        case .send, .finish: return nil
        }
    }

    @Test(
        arguments: [
            (409, nil, .offset(isImmediate: true)), (429, "7", .offset(after: .seconds(7), isImmediate: false)),
            (500, nil, .offset(isImmediate: false)), (503, "9", .offset(after: .seconds(9), isImmediate: false)),
            (408, nil, .offset(isImmediate: false)), (413, nil, .offset(isImmediate: true)), (404, nil, .creation),
            (410, nil, .creation), (400, nil, .failure(.uploadRefused(status: 400))),
            (403, nil, .failure(.uploadRefused(status: 403))), (415, nil, .failure(.uploadRefused(status: 415))),
            (501, nil, .failure(.uploadRefused(status: 501))),
        ] as [(Int, String?, Next)]
    )
    func `a status of an append determines the next step`(status: Int, retryAfter: String?, expected: Next) throws {
        var (state, append) = try Self.appending()
        var fields = HTTPFields()
        fields[.retryAfter] = retryAfter
        let action = state.decide(on: Self.head(status, fields), to: append, sent: 10, now: 0)
        #expect(Self.next(&state, action, after: append) == expected)
    }

    @Test(
        arguments: [
            (404, .creation), (410, .creation), (409, .again()), (429, .again()), (503, .again()), (204, .again()),
            (403, .failure(.uploadRefused(status: 403))), (405, .failure(.uploadRefused(status: 405))),
        ] as [(Int, Next)]
    )
    func `a status of an offset retrieval determines the next step`(status: Int, expected: Next) throws {
        var (state, ask) = try Self.asking()
        let action = state.decide(on: Self.head(status), to: ask, sent: 0, now: 0)
        #expect(Self.next(&state, action, after: ask) == expected)
    }

    /// A request that mustn't be repeated is retried only if the target can't have processed it.
    @Test(
        arguments: [
            (false, 429, .again()), (false, 503, .again()), (false, 500, .failure(.status(500))),
            (true, 500, .again()), (false, 413, .limits), (true, 413, .limits),
            (true, 403, .failure(.status(403))), (true, 409, .failure(.status(409))),
        ] as [(Bool, Int, Next)]
    )
    func `a status of a creation determines the next step`(isRepeatable: Bool, status: Int, expected: Next) throws {
        var state = try Self.state(isRepeatable: isRepeatable)
        let creation = try Self.plan(&state)
        let action = state.decide(on: Self.head(status), to: creation, sent: 10, now: 0)
        #expect(Self.next(&state, action, after: creation) == expected)
    }

    @Test(
        arguments: [
            (400, .completedUpload, .offset(isImmediate: true)),
            (400, .inconsistentLength, .failure(.uploadRefused(status: 400))),
            (409, .mismatchingOffset(expected: 9, provided: 7), .offset(isImmediate: true)),
        ] as [(Int, ProblemDetails, Next)]
    )
    func `a problem type of an append determines the next step`(
        status: Int,
        problem: ProblemDetails,
        expected: Next
    ) throws {
        var (state, append) = try Self.appending()
        let action = state.decide(on: Self.head(status, [:], problem), to: append, sent: 10, now: 0)
        #expect(Self.next(&state, action, after: append) == expected)
    }

    @Test func `requests grow smaller with each 413, down to the server's least or 64 KiB`() throws {
        var (state, append) = try Self.appending()
        var counts: [Int64] = []
        while case .append(_, _, let count, _) = append {
            counts.append(count)
            _ = state.decide(on: Self.head(413), to: append, sent: 10, now: 0)
            guard let ask = try? Self.plan(&state) else { break }
            var fields = HTTPFields()
            UploadWireFormat.v10.encode(UploadFields(isComplete: false, offset: 7), into: &fields)
            _ = state.decide(on: Self.head(204, fields), to: ask, sent: 0, now: 0)
            append = try Self.plan(&state)
        }
        #expect(counts == [999_993, 499_996, 249_998, 124_999, 65_536])
        #expect(state.nextStep() == .fail(.uploadRefused(status: 413)))
    }
}
