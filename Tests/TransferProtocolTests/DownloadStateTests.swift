import HTTPSemantics
import HTTPTypes
import Testing

@testable import TransferProtocol

/// States with 100 received bytes of 300 of `"v1"`, and responses to them.
enum PartialDownload {
    static let digest = ReprDigest(sha256: [UInt8](repeating: 7, count: 32))

    /// A state with this many bytes of the representation that `fields` describe: from a connection that broke, or with
    /// a second one that repeated the last of them, so that the next range starts behind them.
    static func state(
        _ fields: HTTPFields = [.eTag: "\"v1\"", .contentLength: "300"],
        length: Int = 100,
        isBroken: Bool = false,
        rules: DownloadState.Rules = DownloadState.Rules()
    ) -> DownloadState {
        var state = DownloadState(rules: rules)
        _ = state.decide(on: DownloadResponseHead(status: 200, fields: fields), to: .full(nil), now: 0)
        let isAll = state.representation?.total == Int64(length)
        _ = state.received(length)
        state.bodyInterrupted()
        guard !isBroken, !isAll, case .send(let plan) = state.nextStep, case .remaining(let first, _) = plan else {
            return state
        }
        var fields = fields
        (fields[.contentLength], fields[.transferEncoding]) = (nil, nil)
        let total = state.representation?.total
        fields[.contentRange] = "bytes \(first)-\((total ?? 9_999) - 1)/\(total.map { "\($0)" } ?? "*")"
        _ = state.decide(on: DownloadResponseHead(status: 206, fields: fields), to: plan, now: 0)
        _ = state.received(length - Int(first))
        state.bodyInterrupted()
        return state
    }

    static func response(_ status: Int, _ fields: HTTPFields = [:]) -> DownloadResponseHead {
        DownloadResponseHead(status: status, fields: fields)
    }

    static func part(
        _ range: String = "bytes 100-299/300",
        _ length: String? = "200",
        tag: String? = "\"v1\""
    ) -> DownloadResponseHead {
        var fields: HTTPFields = [.contentRange: range]
        fields[.contentLength] = length
        fields[.eTag] = tag
        return response(206, fields)
    }
}

extension DownloadState {
    /// Decides on a response to the next request.
    mutating func next(_ head: DownloadResponseHead) throws -> DownloadHeadDecision {
        guard case .send(let plan) = nextStep else { throw NoRequest() }
        return decide(on: head, to: plan, now: 0)
    }

    /// The first byte of the rest, if that is what it requests next.
    var requestedOffset: Int64? { if case .send(.remaining(let first, _)) = nextStep { first } else { nil } }

    struct NoRequest: Error {}
}

@Suite struct DownloadStateTests {
    @Test func `the first request is for the full representation`() {
        #expect(DownloadState().nextStep == .send(.full(nil)))
        #expect(RequestPlan.full(nil).fields[.range] == nil)
        #expect(RequestPlan.full(nil).fields[.acceptEncoding] == "identity")
    }

    @Test func `a request for the rest carries the range and the validator`() throws {
        let tag = try #require(EntityTag("\"v1\""))
        let plan = RequestPlan.remaining(from: 100, .ifRange(.entityTag(tag)))
        #expect(PartialDownload.state().nextStep == .send(plan))
        #expect(plan.fields[.range] == "bytes=100-")
        #expect(plan.fields[.ifRange] == "\"v1\"")
        #expect(plan.method == .get)
        #expect(RequestPlan.probe.method == .head)
    }

    @Test(
        arguments: [
            ([.eTag: "W/\"v1\""], .unconditional),
            ([.eTag: "v1"], .unconditional),
            ([.eTag: "v1", .lastModified: "Sun, 06 Nov 1994 08:49:30 GMT"], .unconditional),
            (
                [.eTag: "W/\"v1\"", .lastModified: "Sun, 06 Nov 1994 08:49:30 GMT"],
                .unmodifiedSince("Sun, 06 Nov 1994 08:49:30 GMT")
            ),
            (
                [.lastModified: "Sun, 06 Nov 1994 08:49:36 GMT"],
                .ifRange(.lastModified("Sun, 06 Nov 1994 08:49:36 GMT"))
            ),
            (
                [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"], .unmodifiedSince("Sun, 06 Nov 1994 08:49:37 GMT")
            ),
            (
                [.eTag: "\"v1\"", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
                .ifRange(.entityTag(EntityTag("\"v1\"")!))
            ),
            ([:], .unconditional),
        ] as [(HTTPFields, RangeCondition)]
    )
    func `only a strong validator goes into If-Range, and a date beside a tag never does`(
        fields: HTTPFields,
        condition: RangeCondition
    ) {
        var fields = fields
        fields[.date] = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(PartialDownload.state(fields, isBroken: true).nextStep == .send(.remaining(from: 50, condition)))
    }

    @Test func `a Last-Modified without Date is not strong`() {
        let date = "Sun, 06 Nov 1994 08:49:30 GMT"
        let state = PartialDownload.state([.lastModified: date], isBroken: true)
        #expect(state.nextStep == .send(.remaining(from: 50, .unmodifiedSince(date))))
        let plan = RequestPlan.remaining(from: 50, .unmodifiedSince(date))
        #expect(plan.fields[.ifUnmodifiedSince] == date)
        #expect(plan.fields[.ifRange] == nil)
    }

    @Test func `a journal that records more bytes than the representation has is ignored`() {
        var representation = DownloadRepresentation()
        representation.total = 10
        #expect(DownloadState(resuming: representation, length: 11).nextStep == .send(.full(.journalUnusable)))
        let elsewhere = DownloadState(resuming: representation, length: 10, isFromOtherURL: true)
        #expect(elsewhere.nextStep == .send(.full(.differentURL)))
        #expect(DownloadState(resuming: representation, length: 10).nextStep == .finish)
    }

    @Test func `the full representation in one body is complete`() throws {
        var state = DownloadState()
        #expect(try state.next(PartialDownload.response(200, [.contentLength: "3"])) == .begin)
        #expect(state.received(3) == .init(dropped: 0, kept: 3))
        #expect(state.bodyEnded() == .complete)
        #expect(state.nextStep == .finish)
        #expect(state.representation?.evidence.isLengthUnknown == false)
    }

    @Test func `a body without a length is complete when its framing says so`() throws {
        var chunked = DownloadState()
        #expect(try chunked.next(PartialDownload.response(200, [.transferEncoding: "Chunked"])) == .begin)
        _ = chunked.received(3)
        #expect(chunked.bodyEnded() == .complete)
        #expect(chunked.representation?.total == 3)
        #expect(chunked.representation?.evidence.isLengthUnknown == false)
        var open = DownloadState()
        #expect(try open.next(PartialDownload.response(200)) == .begin)
        _ = open.received(3)
        #expect(open.bodyEnded() == .complete)
        #expect(open.representation?.evidence.isLengthUnknown == true)
    }

    @Test func `a body that ends early is incomplete, and excess bytes aren't used`() throws {
        var short = PartialDownload.state()
        #expect(try short.next(PartialDownload.part()) == .append)
        _ = short.received(150)
        #expect(short.bodyEnded() == .retry(after: nil, .bodyTooShort))
        #expect(short.length == 250)
        var long = PartialDownload.state()
        #expect(try long.next(PartialDownload.part()) == .append)
        #expect(long.received(201) == .init(dropped: 0, kept: 200))
        #expect(long.isBodyTooLong)
        #expect(long.bodyEnded() == .complete)
        #expect(long.representation?.evidence.hasExcessBytes == true)
        #expect(long.length == 300)
        var part = PartialDownload.state()
        #expect(try part.next(PartialDownload.part("bytes 100-199/300", nil)) == .append)
        #expect(part.received(101) == .init(dropped: 0, kept: 100))
        #expect(part.bodyEnded() == .retry(after: nil, .rejected(.bodyTooLong)))
        #expect(part.length == 200)
    }

    @Test func `bytes of a body that was never accepted are not counted`() {
        var state = PartialDownload.state()
        #expect(state.received(5) == .init(dropped: 0, kept: 0))
        #expect(state.length == 100)
        #expect(state.bodyEnded() == .retry(after: nil, .bodyTooShort))
    }

    @Test func `a wrong digest requests the full representation again`() {
        var state = PartialDownload.state(length: 300)
        #expect(state.nextStep == .finish)
        state.digestMismatched()
        #expect(state.nextStep == .send(.full(.digestMismatch)))
    }

    @Test func `a repeated full representation keeps what is known of the same tag, and only that`() throws {
        let digest = try #require(PartialDownload.digest)
        let known: HTTPFields = [.eTag: "\"v1\"", .contentLength: "300", .reprDigest: digest.headerValue]
        for (tag, isSame) in [("\"v1\"", true), ("\"v2\"", false), ("W/\"v1\"", false), ("v1", false)] {
            var state = PartialDownload.state(known)
            state.digestMismatched()
            _ = try state.next(PartialDownload.response(200, [.eTag: tag]))
            #expect(state.representation?.total == (isSame ? 300 : nil), "\(tag)")
            #expect(state.representation?.digest == (isSame ? digest : nil), "\(tag)")
        }
    }

    @Test func `a full representation longer than before under the same tag isn't the same`() throws {
        var state = PartialDownload.state()
        state.digestMismatched()
        _ = try state.next(PartialDownload.response(200, [.eTag: "\"v1\"", .transferEncoding: "chunked"]))
        #expect(state.received(301).kept == 300)
        #expect(state.bodyEnded() == .retryNow(.representationChanged))
        #expect(state.nextStep == .send(.full(.representationChanged)))
    }

    @Test func `a length known only from the end of a connection isn't kept`() throws {
        var state = DownloadState()
        let head = PartialDownload.response(
            200,
            [.eTag: "\"v1\"", .reprDigest: try #require(PartialDownload.digest).headerValue]
        )
        _ = try state.next(head)
        _ = state.received(100)
        #expect(state.bodyEnded() == .complete)
        state.digestMismatched()
        #expect(
            try state.next(PartialDownload.response(200, [.eTag: "\"v1\""])) == .truncateAndRestart(.digestMismatch)
        )
        #expect(state.received(300).kept == 300)
        #expect(state.bodyEnded() == .complete)
        #expect(state.representation?.digest == PartialDownload.digest)
        #expect(state.representation?.requiresDigest == true)
    }

    @Test func `a digest in the trailers of a full representation replaces an earlier one`() throws {
        let digest = try #require(PartialDownload.digest)
        let newer = try #require(ReprDigest(sha256: [UInt8](repeating: 8, count: 32)))
        var state = PartialDownload.state([.eTag: "\"v1\"", .contentLength: "300", .reprDigest: digest.headerValue])
        state.digestMismatched()
        _ = try state.next(PartialDownload.response(200, [.eTag: "\"v1\"", .transferEncoding: "chunked"]))
        _ = state.received(300)
        #expect(state.bodyEnded(trailers: [.reprDigest: newer.headerValue]) == .complete)
        #expect(state.representation?.digest == newer)
    }

    @Test func `a digest in the trailers is taken, and one that differs means changed`() throws {
        let digest = try #require(PartialDownload.digest)
        var state = PartialDownload.state()
        _ = try state.next(PartialDownload.part())
        _ = state.received(200)
        #expect(state.bodyEnded(trailers: [.reprDigest: digest.headerValue]) == .complete)
        #expect(state.representation?.digest == digest)
        var other = PartialDownload.state([
            .eTag: "\"v1\"", .contentLength: "300",
            .reprDigest: try #require(ReprDigest(sha256: [UInt8](repeating: 8, count: 32))).headerValue,
        ])
        _ = try other.next(PartialDownload.part())
        _ = other.received(200)
        #expect(other.bodyEnded(trailers: [.reprDigest: digest.headerValue]) == .retryNow(.representationChanged))
        #expect(other.nextStep == .send(.full(.representationChanged)))
    }
}
