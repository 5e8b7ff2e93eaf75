import HTTPTypes
import Testing

@testable import TransferProtocol

/// Received bytes that were damaged on disk.
@Suite struct DownloadDamageTests {
    private static func block(_ range: String, tag: String? = "\"v1\"") -> DownloadResponseHead {
        PartialDownload.part("bytes \(range)/300", nil, tag: tag)
    }

    @Test func `a damaged block is requested alone, and replaces the received bytes`() throws {
        var state = PartialDownload.state()
        #expect(state.foundDamage(32..<64) == 100)
        guard case .send(let ask) = state.nextStep, case .block(let range, _) = ask else {
            Issue.record("no request for the block")
            return
        }
        #expect(range == 32..<64)
        #expect(ask.fields[.range] == "bytes=32-63")
        #expect(ask.fields[.ifRange] == "\"v1\"")
        #expect(try state.next(Self.block("32-63")) == .repair(from: 32))
        #expect(state.received(32) == .init(dropped: 0, kept: 32))
        #expect(state.damage == nil)
        #expect(state.bodyEnded() == .requestMore)
        #expect(state.length == 100)
        #expect(state.requestedOffset == 100)
    }

    @Test func `a complete file with a damaged block isn't finished`() {
        var state = PartialDownload.state(length: 300)
        #expect(state.nextStep == .finish)
        _ = state.foundDamage(0..<64)
        guard case .send(.block) = state.nextStep else {
            Issue.record("no request for the block")
            return
        }
    }

    @Test func `a block that arrives in parts is continued from where it stopped`() throws {
        var state = PartialDownload.state()
        _ = state.foundDamage(32..<64)
        #expect(try state.next(Self.block("32-47")) == .repair(from: 32))
        _ = state.received(10)
        state.bodyInterrupted()
        #expect(state.damage == 42..<64)
        #expect(try state.next(Self.block("42-50")) == .repair(from: 42))
        _ = state.received(9)
        #expect(state.bodyEnded() == .requestMore)
        #expect(state.damage == 51..<64)
    }

    @Test func `a block that is damaged again truncates the received bytes`() {
        var state = PartialDownload.state()
        #expect(state.foundDamage(32..<64) == 100)
        #expect(state.foundDamage(32..<64) == 32)
        #expect(state.length == 32)
        #expect(state.requestedOffset == 32)
    }

    @Test
    func `a first block that can't be replaced leaves nothing, and the bytes stay until a full representation arrives`()
        throws
    {
        var state = PartialDownload.state()
        _ = state.foundDamage(0..<64)
        #expect(state.foundDamage(0..<64) == 100)
        #expect(state.nextStep == .send(.full(.journalUnusable)))
        #expect(
            try state.next(PartialDownload.response(200, [.eTag: "\"v2\"", .contentLength: "300"]))
                == .truncateAndRestart(.journalUnusable)
        )
    }

    @Test func `so many blocks are replaced, and no more`() {
        var state = PartialDownload.state(length: 299)
        for index in 0..<Int64(DownloadState.maximumRepairs) {
            #expect(state.foundDamage(index + 1..<index + 2) == 299)
        }
        #expect(state.foundDamage(100..<101) == 100)
    }

    @Test func `a block that is too long, or has no validator, isn't requested`() {
        var long = PartialDownload.state([.eTag: "\"v1\"", .contentLength: "300000000"], length: 200_000_000)
        #expect(long.foundDamage(1..<2 + DownloadState.maximumRepairSize) == 1)
        var weak = PartialDownload.state([.eTag: "W/\"v1\"", .contentLength: "300"])
        #expect(weak.foundDamage(32..<64) == 32)
    }

    @Test(
        arguments: [
            (
                Self.block("31-63"),
                DownloadHeadDecision.retry(after: nil, .rejected(.startsEarly(requested: 32, got: 31)))
            ),
            (Self.block("32-64"), .retry(after: nil, .rejected(.lengthsDisagree))),
            (Self.block("33-63"), .retry(after: nil, .rejected(.startsLate(requested: 32, got: 33)))),
            (Self.block("32-63", tag: nil), .retry(after: nil, .rejected(.noValidator))),
            (Self.block("32-63", tag: "\"v2\""), .retryNow(.representationChanged)),
            (PartialDownload.response(412), .retryNow(.representationChanged)),
            (PartialDownload.response(416, [.contentRange: "bytes */300"]), .retryNow(.rejected(.rangeRefused))),
            (PartialDownload.response(503), .retry(after: nil, .status(503))),
        ]
    )
    func `no other response replaces a block`(head: DownloadResponseHead, action: DownloadHeadDecision) throws {
        var state = PartialDownload.state()
        _ = state.foundDamage(32..<64)
        #expect(try state.next(head) == action)
        if case .conclude(.retryNow) = action {
            guard case .send(.full(.some)) = state.nextStep else {
                Issue.record("\(state.nextStep)")
                return
            }
        } else {
            #expect(state.damage == 32..<64)
        }
        #expect(state.length == 100)
    }

    @Test func `a full representation instead of the block starts over`() throws {
        var state = PartialDownload.state()
        _ = state.foundDamage(32..<64)
        let full = PartialDownload.response(200, [.eTag: "\"v1\"", .contentLength: "300"])
        // The block is requested once more, without a condition.
        #expect(try state.next(full) == .retryNow(.rejected(.conditionIgnored)))
        #expect(state.nextStep == .send(.block(32..<64, .unconditional)))
        #expect(try state.next(full) == .truncateAndRestart(.rangeIgnored))
        #expect(state.damage == nil)
        #expect(state.length == 0)
    }
}
