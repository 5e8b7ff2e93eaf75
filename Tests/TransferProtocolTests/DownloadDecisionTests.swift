import HTTPSemantics
import HTTPTypes
import Testing

@testable import TransferProtocol

@Suite struct DownloadDecisionTests {
    @Test func `206 with the requested range is appended`() throws {
        var state = PartialDownload.state()
        #expect(try state.next(PartialDownload.part()) == .append)
        #expect(state.received(200).kept == 200)
        #expect(state.bodyEnded() == .complete)
    }

    @Test func `206 may leave the length out`() throws {
        var state = PartialDownload.state()
        #expect(try state.next(PartialDownload.part("bytes 100-299/*", nil)) == .append)
    }

    @Test func `a tag of another resource proves nothing, an equal digest does`() throws {
        let digest = try #require(PartialDownload.digest).headerValue
        let known: HTTPFields = [.eTag: "\"v1\"", .contentLength: "300", .reprDigest: digest]
        for (fields, sent, isTaken) in [
            ([.eTag: "\"v1\"", .contentLength: "300"], nil, false), (known, nil, false), (known, digest, true),
        ] as [(HTTPFields, String?, Bool)] {
            var head = PartialDownload.part()
            head.fields[.reprDigest] = sent
            head.isFromOtherResource = true
            var state = PartialDownload.state(fields)
            #expect(try state.next(head) == (isTaken ? .append : .retryNow(.differentURL)))
            if !isTaken { #expect(state.nextStep == .send(.full(.differentURL))) }
        }
        var full = PartialDownload.response(200, [.eTag: "\"v1\""])
        full.isFromOtherResource = true
        var state = PartialDownload.state(known)
        #expect(try state.next(full) == .truncateAndRestart(.differentURL))
        #expect(state.representation?.digest == nil)
        var end = PartialDownload.response(416, [.contentRange: "bytes */100", .eTag: "\"v1\""])
        end.isFromOtherResource = true
        var unsure = PartialDownload.state([.eTag: "\"v1\"", .transferEncoding: "chunked"])
        #expect(try unsure.next(end) == .retryNow(.completenessUnknown))
    }

    /// The type and length of a full response to a range, whether another resource sent it, and how many such responses are
    /// rejected before one may replace the received bytes of a file of 300.
    @Test(
        arguments: [
            ("text/html; charset=utf-8", "19", true, .max), ("Text/HTML", "19", false, .max),
            ("text/html", nil, false, .max), (nil, "19", true, 2), ("text/plain", nil, true, 2),
            ("text/plain", "19", false, 0), ("text/html", "300", true, 0), (nil, "300", true, 0),
        ] as [(String?, String?, Bool, Int)]
    )
    func `a login page doesn't replace the received bytes of a file whose digest the caller knows`(
        type: String?,
        size: String?,
        isFromOtherResource: Bool,
        rejections: Int
    ) throws {
        var head = PartialDownload.response(200)
        (head.fields[.contentType], head.fields[.contentLength]) = (type, size)
        head.isFromOtherResource = isFromOtherResource
        let failure = TransientFailure.rejected(.otherFile)
        let rejected: [DownloadHeadDecision] = [.retry(after: nil, failure), .retryNow(failure)]
        var unknown = PartialDownload.state()
        #expect(try !rejected.contains(unknown.next(head)))
        var state = PartialDownload.state(rules: .init(hasExpectedDigest: true))
        for number in 1...5 where number <= rejections {
            #expect(try state.next(head) == rejected[number == rejections ? 1 : 0])
            #expect(state.length == 100)
        }
        if rejections < .max {
            #expect(try !rejected.contains(state.next(head)))
        } else {
            head.fields[.contentEncoding] = "gzip"
            #expect(try state.next(head) == rejected[0])
        }
    }

    @Test func `206 that ends early is appended, and is not the end`() throws {
        var state = PartialDownload.state([.eTag: "\"v1\"", .contentLength: "1000000"])
        #expect(try state.next(PartialDownload.part("bytes 100-70099/1000000", "70000")) == .append)
        _ = state.received(70_000)
        #expect(state.bodyEnded() == .requestMore)
        #expect(try state.next(PartialDownload.part("bytes 35100-70100/1000000", "35001")) == .appendDropping(35_000))
        _ = state.received(35_001)
        #expect(state.bodyEnded() == .requestMore)
        #expect(state.length == 70_101)
    }

    @Test func `206 of an unknown total is never the end`() throws {
        var state = PartialDownload.state([.eTag: "\"v1\"", .transferEncoding: "chunked"])
        #expect(try state.next(PartialDownload.part("bytes 100-299/*")) == .append)
        _ = state.received(200)
        #expect(state.bodyEnded() == .requestMore)
        #expect(state.requestedOffset == 200)
    }

    @Test func `206 that starts early is compared up to the received bytes`() throws {
        var state = PartialDownload.state()
        #expect(try state.next(PartialDownload.part("bytes 60-299/300", "240")) == .appendDropping(40))
        #expect(state.received(50) == .init(dropped: 40, kept: 10))
        #expect(state.received(190) == .init(dropped: 0, kept: 190))
        #expect(state.bodyEnded() == .complete)
        var unnamed = PartialDownload.state([
            .lastModified: "Sun, 06 Nov 1994 08:49:30 GMT", .date: "Sun, 06 Nov 1994 08:49:37 GMT",
            .contentLength: "300",
        ])
        // Without a validator the bytes decide.
        #expect(try unnamed.next(PartialDownload.part("bytes 60-299/300", "240", tag: nil)) == .appendDropping(40))
    }

    @Test func `206 that starts more than 64 KiB early is rejected`() throws {
        for (early, isTaken) in [(65_536, true), (65_537, false)] {
            var state = PartialDownload.state([.eTag: "\"v1\"", .contentLength: "200000"], length: 150_000)
            let first = Int(try #require(state.requestedOffset)) - early
            let head = PartialDownload.part("bytes \(first)-199999/200000", "\(200_000 - first)")
            #expect(try (state.next(head) == .appendDropping(Int64(150_000 - first))) == isTaken)
        }
    }

    @Test func `a difference in the overlap requests the full representation`() throws {
        var state = PartialDownload.state()
        _ = try state.next(PartialDownload.part("bytes 60-299/300", "240"))
        #expect(state.overlapMismatched() == .retryNow(.rejected(.overlapDiffers)))
        #expect(state.nextStep == .send(.full(.rangeUnusable(.overlapDiffers))))
        #expect(state.length == 100)
    }

    @Test(
        arguments: [
            (PartialDownload.part("bytes 101-299/300", "199"), .startsLate(requested: 100, got: 101)),
            (PartialDownload.part("bytes 100-299/300", "199"), .lengthsDisagree),
            (PartialDownload.part("bytes 100-299/300", "201"), .lengthsDisagree),
            (PartialDownload.part("bytes 100-300/*", "201"), .lengthsDisagree),
            (PartialDownload.part("bytes 299-100/300", "200"), .noContentRange),
            (PartialDownload.part("bytes */300", "200"), .noContentRange),
            (PartialDownload.part("lines 100-299/300", "200"), .noContentRange),
            (PartialDownload.part("bytes 100-299/300, bytes 0-1/300", "200"), .noContentRange),
            (PartialDownload.response(206, [.contentLength: "200"]), .noContentRange),
            (
                PartialDownload.response(
                    206,
                    [.contentRange: "bytes 100-299/300", .contentType: "Multipart/ByteRanges; boundary=x"]
                ),
                .multipart
            ),
            (
                PartialDownload.response(
                    206,
                    [.contentRange: "bytes 100-299/300", .transferEncoding: "gzip, chunked"]
                ),
                .transferCoding("gzip, chunked")
            ),
        ] as [(DownloadResponseHead, DownloadRejection)]
    )
    func `206 that can't be used is requested again, then replaced by the full representation`(
        head: DownloadResponseHead,
        rejection: DownloadRejection
    ) throws {
        var state = PartialDownload.state()
        #expect(try state.next(head) == .retry(after: nil, .rejected(rejection)))
        #expect(state.length == 100)
        #expect(try state.next(head) == .retryNow(.rejected(rejection)))
        #expect(state.length == 100)
        #expect(state.nextStep == .send(.full(.rangeUnusable(rejection))))
        let full = PartialDownload.response(200, [.eTag: "\"v1\"", .contentLength: "300"])
        #expect(try state.next(full) == .truncateAndRestart(.rangeUnusable(rejection)))
        #expect(state.length == 0)
    }

    @Test(arguments: [
        PartialDownload.part(tag: "\"v2\""), PartialDownload.part(tag: "W/\"v1\""),
        PartialDownload.part("bytes 100-299/301"),
        PartialDownload.response(206, [.contentRange: "bytes 100-299/300", .eTag: "\"v1\"", .contentEncoding: "gzip"]),
        PartialDownload.response(412),
        PartialDownload.response(416, [.contentRange: "bytes */99"]),
        PartialDownload.response(416, [.contentRange: "bytes */301"]),
    ])
    func `a response about another representation requests the full one at once`(head: DownloadResponseHead) throws {
        var state = PartialDownload.state()
        #expect(try state.next(head) == .retryNow(.representationChanged))
        #expect(state.length == 100)
        #expect(state.nextStep == .send(.full(.representationChanged)))
    }

    @Test func `200 to a range starts over, and says why`() throws {
        var ignored = PartialDownload.state()
        let same = PartialDownload.response(200, [.eTag: "\"v1\"", .contentLength: "300"])
        #expect(try ignored.next(same) == .retryNow(.rejected(.conditionIgnored)))
        #expect(try ignored.next(same) == .truncateAndRestart(.rangeIgnored))
        var changed = PartialDownload.state()
        let other = PartialDownload.response(200, [.eTag: "\"v2\"", .contentLength: "300"])
        #expect(try changed.next(other) == .truncateAndRestart(.representationChanged))
        #expect(changed.length == 0)
        #expect(changed.representation?.entityTag == EntityTag("\"v2\""))
    }

    @Test func `200 with Content-Range must be the full representation`() throws {
        for (range, length, isTaken) in [
            ("bytes 0-299/300", "300", true), ("bytes 0-299/*", "300", true), ("bytes 0-298/300", "299", false),
            ("bytes 1-299/300", "299", false), ("bytes 0-299/300", "299", false), ("nonsense", "300", false),
        ] {
            var state = DownloadState()
            let action = try state.next(PartialDownload.response(200, [.contentRange: range, .contentLength: length]))
            #expect(action == (isTaken ? .begin : .retry(after: nil, .rejected(.lengthsDisagree))), "\(range)")
        }
    }

    @Test func `an unasked content coding is refused`() throws {
        let head = PartialDownload.response(200, [.contentEncoding: "GZip", .contentLength: "3"])
        var coded = DownloadState()
        #expect(try coded.next(head) == .fail(.contentEncoding("gzip")))
        var none = DownloadState()
        #expect(
            try none.next(PartialDownload.response(200, [.contentEncoding: "identity", .contentLength: "3"])) == .begin
        )
    }

    @Test func `416 at the end is completion, unless the request had no condition`() throws {
        let unknown: HTTPFields = [.eTag: "\"v1\"", .transferEncoding: "chunked"]
        let end: HTTPFields = [.contentRange: "bytes */100"]
        for more in [[.eTag: "\"v1\""], [.contentEncoding: "gzip"], [:]] as [HTTPFields] {
            var head = PartialDownload.response(416, end)
            for field in more { head.fields.append(field) }
            var state = PartialDownload.state(unknown)
            #expect(try state.next(head) == .complete)
            #expect(state.nextStep == .finish)
        }
        var other = PartialDownload.state(unknown)
        #expect(
            try other.next(PartialDownload.response(416, [.contentRange: "bytes */100", .eTag: "\"v2\""]))
                == .retryNow(.completenessUnknown)
        )
        #expect(other.nextStep == .send(.probe))
        #expect(try other.next(PartialDownload.response(200, [.eTag: "\"v1\"", .contentLength: "100"])) == .complete)
        #expect(other.nextStep == .finish)
        var unconditional = PartialDownload.state(unknown)
        _ = try unconditional.next(PartialDownload.response(200, [.eTag: "\"v1\"", .transferEncoding: "chunked"]))
        #expect(try unconditional.next(PartialDownload.response(416, end)) == .retryNow(.completenessUnknown))
    }

    @Test func `416 without a total is settled by a HEAD`() throws {
        for (response, next) in [
            (
                PartialDownload.response(200, [.eTag: "\"v1\"", .contentLength: "300"]),
                .full(.rangeUnusable(.rangeRefused))
            ),
            (PartialDownload.response(200, [.eTag: "\"v2\"", .contentLength: "100"]), .full(.representationChanged)),
            (PartialDownload.response(200, [.contentLength: "300"]), .full(.representationChanged)),
            (PartialDownload.response(405), .full(.rangeUnusable(.rangeRefused))),
            (PartialDownload.response(501), .full(.rangeUnusable(.rangeRefused))),
        ] as [(DownloadResponseHead, RequestPlan)] {
            var state = PartialDownload.state()
            #expect(try state.next(PartialDownload.response(416)) == .retryNow(.completenessUnknown))
            #expect(state.nextStep == .send(.probe))
            _ = try state.next(response)
            #expect(state.nextStep == .send(next))
        }
    }

    @Test func `416 for a range that is there makes the file start over`() throws {
        var state = PartialDownload.state()
        #expect(
            try state.next(PartialDownload.response(416, [.contentRange: "bytes */300"]))
                == .retryNow(.rejected(.rangeRefused))
        )
        #expect(state.nextStep == .send(.full(.rangeUnusable(.rangeRefused))))
    }

    @Test func `redirections are followed, whatever they say of a representation`() throws {
        for status in [301, 302, 303, 307, 308] {
            var state = PartialDownload.state()
            let before = state
            let head = PartialDownload.response(status, [.location: "/x", .eTag: "\"other\"", .contentLength: "1"])
            #expect(try state.next(head) == .follow(location: "/x"))
            #expect(state == before)
            #expect(try state.next(PartialDownload.response(status)) == .fail(.redirection(status: status)))
        }
    }

    @Test func `statuses of the moment are tried again, all others are final`() throws {
        let later: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
        for status in 102...599 where ![200, 206, 301, 302, 303, 307, 308, 401, 407, 412, 416].contains(status) {
            var state = PartialDownload.state()
            let action = try state.next(PartialDownload.response(status, [HTTPField.Name("Retry-After")!: "3"]))
            if later.contains(status) || (506...599).contains(status) {
                #expect(action == .retry(after: .seconds(3), .status(status)))
            } else {
                #expect(action == .fail(.status(status)))
            }
            #expect(state.length == 100)
        }
    }
}
