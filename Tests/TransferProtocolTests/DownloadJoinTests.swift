import HTTPSemantics
import HTTPTypes
import Testing
import TransferProtocol

/// Which parts a download joins, and what the next range repeats.
@Suite struct DownloadJoinTests {
    @Test(arguments: [nil, "v1", "\"v1\", \"v1\"", ""])
    func `206 without the tag of the received bytes is joined behind what it repeats`(tag: String?) throws {
        var state = PartialDownload.state(isBroken: true)
        #expect(try state.next(PartialDownload.part("bytes 50-299/300", "250", tag: tag)) == .appendDropping(50))
        #expect(state.representation?.evidence.isJoinedByOverlap == true)
        #expect(state.length == 100)
    }

    @Test func `206 may leave a Last-Modified out`() throws {
        let dated: HTTPFields = [
            .lastModified: "Sun, 06 Nov 1994 08:49:30 GMT", .date: "Sun, 06 Nov 1994 08:49:37 GMT",
            .contentLength: "300",
        ]
        var state = PartialDownload.state(dated, isBroken: true)
        #expect(try state.next(PartialDownload.part("bytes 50-299/300", "250", tag: nil)) == .appendDropping(50))
    }

    @Test func `behind a part that ended as it said the next one repeats bytes too`() throws {
        var state = PartialDownload.state([.eTag: "\"v1\"", .contentLength: "1000"])
        #expect(try state.next(PartialDownload.part("bytes 100-499/1000", "400")) == .append)
        _ = state.received(400)
        #expect(state.bodyEnded() == .requestMore)
        #expect(state.requestedOffset == 300)
    }

    @Test func `parts shorter than the overlap make progress`() throws {
        var state = PartialDownload.state(
            [.eTag: "\"v1\"", .contentLength: "1000000"],
            length: 200_000,
            isBroken: true
        )
        var requests = 0
        while state.length < 400_000, requests < 50, case .send(.remaining(from: let first, _)) = state.nextStep {
            requests += 1
            _ = try state.next(PartialDownload.part("bytes \(first)-\(first + 9_999)/1000000", "10000"))
            _ = state.received(10_000)
            _ = state.bodyEnded()
        }
        #expect(state.length >= 400_000)
    }

    @Test func `206 of all of it is taken without a range request`() throws {
        var state = DownloadState()
        #expect(try state.next(PartialDownload.part("bytes 0-299/300", "300")) == .begin)
        #expect(state.received(300).kept == 300)
        #expect(state.bodyEnded() == .complete)
        var part = DownloadState()
        #expect(
            try part.next(PartialDownload.part("bytes 0-298/300", "299"))
                == .retry(after: nil, .rejected(.unrequestedPartialContent))
        )
    }

    @Test func `after a connection that broke the next range repeats half of what it brought, at most 64 KiB`() throws {
        let fields: HTTPFields = [.eTag: "\"v1\"", .contentLength: "1000000"]
        for (count, overlap) in [(1, 0), (16_384, 8_192), (131_072, 65_536), (500_000, 65_536)] {
            var state = PartialDownload.state(fields, length: count, isBroken: true)
            let first = try #require(state.requestedOffset)
            #expect(first == Int64(count - overlap))
            // One that breaks before the overlap is over is repeated to a half as well.
            _ = try state.next(PartialDownload.part("bytes \(first)-999999/1000000", "\(1_000_000 - Int(first))"))
            _ = state.received(min(1_000, overlap))
            state.bodyInterrupted()
            #expect(state.length == Int64(count))
            guard overlap > 0, case .send(.remaining(from: let next, _)) = state.nextStep else { continue }
            #expect(next == Int64(count - 500))
        }
    }

    @Test func `a range that shows that nothing is missing completes a body without its last chunk`() throws {
        for fields in [[:], [.eTag: "W/\"v1\""], [.eTag: "\"v1\""]] as [HTTPFields] {
            var chunked = fields
            chunked[.transferEncoding] = "chunked"
            var state = PartialDownload.state(chunked, length: 300, isBroken: true)
            var part = fields
            part[.contentRange] = "bytes 150-299/300"
            #expect(try state.next(PartialDownload.response(206, part)) == .appendDropping(150))
            // The length alone isn't enough: the bytes that came last may not be the server's.
            var early = state
            early.bodyInterrupted()
            #expect(early.nextStep != .finish)
            #expect(state.received(150).kept == 0)
            state.bodyInterrupted()
            #expect(state.nextStep == .finish)
        }
    }

    @Test func `404 behind what may be the end is asked again from before it`() throws {
        var state = PartialDownload.state([.eTag: "\"v1\"", .transferEncoding: "chunked"])
        #expect(try state.next(PartialDownload.response(404)) == .retryNow(.completenessUnknown))
        #expect(try #require(state.requestedOffset) < 100)
        #expect(try state.next(PartialDownload.response(404)) == .fail(.status(404)))
    }

    @Test func `a server that ignores a range with a condition is asked without one`() throws {
        let full = PartialDownload.response(200, [.eTag: "\"v1\"", .contentLength: "300"])
        var state = PartialDownload.state()
        #expect(try state.next(full) == .retryNow(.rejected(.conditionIgnored)))
        #expect(state.nextStep == .send(.remaining(from: 100, .unconditional)))
        #expect(try state.next(PartialDownload.part()) == .append)
        #expect(state.representation?.evidence.isJoinedByOverlap == false)
    }

    @Test func `another tag with the same date and length is joined behind an overlap, once without a date`() throws {
        func full(_ tag: String, _ date: String?) -> DownloadResponseHead {
            var head = PartialDownload.response(200, [.eTag: tag, .contentLength: "300"])
            head.fields[.lastModified] = date
            return head
        }
        let date = "Sun, 06 Nov 1994 08:49:30 GMT"
        var dated = PartialDownload.state(full("\"v1\"", date).fields, isBroken: true)
        #expect(try dated.next(full("\"v2\"", date)) == .retryNow(.rejected(.tagDiffers)))
        #expect(dated.nextStep == .send(.remaining(from: 50, .unmodifiedSince(date))))
        var part = PartialDownload.part("bytes 50-299/300", "250", tag: "\"v3\"")
        part.fields[.lastModified] = date
        #expect(try dated.next(part) == .appendDropping(50))
        #expect(dated.representation?.evidence.isJoinedByOverlap == true)

        var changed = PartialDownload.state(full("\"v1\"", date).fields, isBroken: true)
        #expect(
            try changed.next(full("\"v2\"", "Sun, 06 Nov 1994 08:49:31 GMT"))
                == .truncateAndRestart(.representationChanged)
        )

        var undated = PartialDownload.state(full("\"v1\"", nil).fields, isBroken: true)
        #expect(try undated.next(full("\"v2\"", nil)) == .truncateAndRestart(.representationChanged))
        _ = undated.received(100)
        undated.bodyInterrupted()
        #expect(try undated.next(full("\"v1\"", nil)) == .retryNow(.rejected(.tagDiffers)))
        #expect(undated.nextStep == .send(.remaining(from: 50, .unconditional)))

        let rules = DownloadState.Rules(hasExpectedDigest: true)
        var expected = PartialDownload.state(full("\"v1\"", nil).fields, isBroken: true, rules: rules)
        #expect(try expected.next(full("\"v2\"", nil)) == .retryNow(.rejected(.tagDiffers)))
    }

    @Test func `a part with status 200 is taken as one`() throws {
        var state = PartialDownload.state()
        var head = PartialDownload.part()
        head.status = 200
        #expect(try state.next(head) == .append)
        #expect(state.received(200).kept == 200)
        #expect(state.bodyEnded() == .complete)
    }

    @Test func `a coded body is stored where the caller wants it, and doesn't continue under another coding`() throws {
        let fields: HTTPFields = [.eTag: "\"v1\"", .contentLength: "300", .contentEncoding: "gzip"]
        var refused = DownloadState()
        #expect(try refused.next(PartialDownload.response(200, fields)) == .fail(.contentEncoding("gzip")))
        let rules = DownloadState.Rules(storesCoded: true)
        var state = PartialDownload.state(fields, rules: rules)
        var plain = state
        var other = PartialDownload.part()
        other.fields[.contentEncoding] = "br"
        #expect(try plain.next(other) == .retryNow(.representationChanged))
        // A 206 may leave it out.
        #expect(try state.next(PartialDownload.part()) == .append)
    }

    @Test func `a server of another protocol is named`() throws {
        var state = DownloadState()
        let head = PartialDownload.response(412, [HTTPField.Name("Tus-Version")!: "1.0.0,0.2.2"])
        #expect(try state.next(head) == .fail(.otherProtocol(status: 412, "tus 1.0.0")))
    }
}
