import Foundation
import HTTPSemantics
import TestStreams
import Testing
import TransferClient
import TransferProtocol

@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    private static let resource = Resource(size: 50_000)

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 522])
    func `a temporary status is retried, no sooner than Retry-After allows`(status: Int) async throws {
        let (done, folder, _) = try await download { request in
            request.ordinal == 0
                ? [.head(status, ["Retry-After: 120", "Content-Length: 4"]), .text("busy")]
                : Self.resource.serve(request)
        }
        #expect(done.waits == [.seconds(120)])
        #expect(done.transientFailures == [.status(status)])
        #expect(folder.file == Self.resource.content)
    }

    @Test func `a Retry-After that is a date is counted from the wall clock`() async throws {
        let (done, folder, _) = try await download { request in
            // The test clock is at 08:49:37.
            request.ordinal == 0
                ? [.head(503, ["Retry-After: Sun, 06 Nov 1994 08:50:37 GMT"])] : Self.resource.serve(request)
        }
        #expect(done.waits == [.seconds(60)])
        #expect(folder.file == Self.resource.content)
    }

    @Test func `a Retry-After beyond all patience ends for now`() async throws {
        let (done, _, requests) = try await download { _ in [.head(429, ["Retry-After: 99999999999999999999"])] }
        #expect(done.error == .gaveUp(.retryAfter(.seconds(1 << 31)), .status(429)))
        #expect(done.error?.disposition == .resumable)
        #expect(requests.count == 1)
    }

    @Test(arguments: [201, 204, 300, 304, 400, 403, 404, 410, 412, 416, 418, 501, 505])
    func `a status that no repetition changes is final, and nothing is left`(status: Int) async throws {
        let (done, folder, requests) = try await download { _ in [.head(status, ["Content-Length: 0"])] }
        #expect(done.error == .refused(.status(status)))
        #expect(done.error?.disposition == .final)
        #expect(requests.count == 1)
        #expect(folder.names.isEmpty)
    }

    @Test(arguments: [403, 404])
    func `a refusal keeps the received bytes`(status: Int) async throws {
        let (done, folder, _) = try await download { request in
            request.ordinal == 0
                ? Self.resource.serve(request, upTo: 1_000) : [.head(status, ["Content-Length: 0"])]
        }
        #expect(done.error == .refused(.status(status)))
        #expect(folder.bytes(folder.part) == Array(Self.resource.content.prefix(1_000)))
    }

    @Test func `attempts without progress come to an end`() async throws {
        let (done, _, requests) = try await download { _ in
            []
        } configure: {
            $0.retry.maximumAttempts = 4
        }
        #expect(requests.count == 4)
        guard case .gaveUp(.attempts(4), .connectionLost) = done.error else {
            Issue.record("\(String(describing: done.error))")
            return
        }
    }

    @Test func `starting over is limited`() async throws {
        let (done, _, _) = try await download { request in
            var resource = Resource(size: 2_000 + request.ordinal * 100, seed: UInt64(request.ordinal))
            resource.entityTag = "\"\(request.ordinal)\""
            return resource.serve(request, upTo: 1_000 + request.ordinal * 100)
        } configure: {
            $0.maximumRestarts = 3
        }
        #expect(done.error == .tooManyRestarts(3, .representationChanged))
        #expect(done.error?.disposition == .resumable)
        // The first restart has no backoff, later ones have.
        #expect(done.rules.map(\.code) == ["progress", "progress", "starting-over", "starting-over"])
    }

    @Test func `a redirection is followed, relative or not, with the range`() async throws {
        let (done, folder, requests) = try await download(path: "/a/b?x=1") { request in
            switch request.target {
            case "/a/b?x=1": [.head(302, ["Location: ../c d?y=2", "ETag: \"of the redirection\""])]
            case "/c%20d?y=2": [.head(307, ["Location: //\(request.fields["host"] ?? "")/e#part"])]
            default:
                request.rangeStart == nil
                    ? Self.resource.serve(request, upTo: 1_000) : Self.resource.serve(request)
            }
        }
        #expect(folder.file == Self.resource.content)
        #expect(requests.map(\.target) == ["/a/b?x=1", "/c%20d?y=2", "/e", "/e"])
        #expect(requests.last?.fields["if-range"] == "\"v1\"")
        #expect(done.summary?.finalURL?.hasSuffix("/e") == true)
    }

    /// The target of the second redirect, and the number of restarts.
    @Test(arguments: [("/b", 1), ("/a", 0), ("/a?signed=2", 0)])
    func `parts of two resources are never joined, whatever their tags`(target: String, restarts: Int) async throws {
        let other = Resource(size: 50_000, seed: 3)
        let (done, folder, _) = try await download { request in
            switch request.target {
            case "/file.bin" where request.ordinal == 0: [.head(302, ["Location: /a?signed=1", "Content-Length: 0"])]
            case "/file.bin": [.head(302, ["Location: \(target)", "Content-Length: 0"])]
            case "/a?signed=1" where request.ordinal < 2: Self.resource.serve(request, upTo: 20_000)
            case "/a?signed=1" where target != "/a?signed=1": [.head(403, ["Content-Length: 0"])]
            case "/b": other.serve(request)
            default: Self.resource.serve(request)
            }
        } configure: {
            $0.retry.maximumAttempts = 3
        }
        #expect(folder.file == (target == "/b" ? other.content : Self.resource.content))
        #expect(done.restarts == [RestartReason](repeating: .differentURL, count: restarts))
    }

    @Test func `a redirect loop ends`() async throws {
        let (done, _, requests) = try await download { _ in [.head(301, ["Location: /file.bin"])] }
        #expect(done.error == .tooManyRedirections(10))
        #expect(requests.count == 11)
    }

    @Test(arguments: [
        "ftp://h/", "http://u:p@h/", "http://",
    ])
    func `a redirection out of reach is an error`(location: String) async throws {
        let (done, _, requests) = try await download { _ in [.head(301, ["Location: \(location)"])] }
        #expect(done.error?.disposition == .final)
        #expect(requests.count == 1)
    }

    @Test func `a redirection without a target is an error`() async throws {
        let (done, _, _) = try await download { _ in [.head(302, [])] }
        #expect(done.error == .refused(.redirection(status: 302)))
    }

    @Test func `a coding that wasn't requested is refused`() async throws {
        let (refused, folder, _) = try await download { _ in
            [Self.resource.full(["Content-Encoding: GZIP"]), .send(Self.resource.content)]
        }
        #expect(refused.error == .refused(.contentEncoding("gzip")))
        #expect(folder.names.isEmpty)
    }

    @Test func `the server's digest is checked, in a head or in a trailer`() async throws {
        var digested = Self.resource
        digested.sendsDigest = true
        let (done, _, _) = try await download { [digested] in digested.serve($0) }
        #expect(done.summary?.verified == [.server])
        #expect(done.events.contains(.verified(.server)))
        let digest = try #require(ReprDigest(sha256: digested.sha256)).headerValue
        let (trailed, folder, _) = try await download { _ in
            [
                .head(200, ["Transfer-Encoding: chunked", "Trailer: Repr-Digest"]), .text("C350\r\n"),
                .send(Self.resource.content), .text("\r\n0\r\nRepr-Digest: \(digest)\r\n\r\n"),
            ]
        }
        #expect(trailed.summary?.verified == [.server])
        #expect(folder.file == Self.resource.content)
    }

    @Test func `a wrong digest is one more chance, then a failure that moves the file aside`() async throws {
        let wrong = try #require(ReprDigest(sha256: [UInt8](repeating: 1, count: 32)))
        var digested = Self.resource
        digested.sendsDigest = true
        let respond: @Sendable (ReceivedRequest, Int) -> [Step] = { [digested] request, good in
            request.ordinal >= good
                ? digested.serve(request)
                : [Self.resource.full(["Repr-Digest: \(wrong.headerValue)"]), .send(Self.resource.content)]
        }
        let (healed, healedFolder, _) = try await download { respond($0, 1) }
        #expect(healed.restarts == [.digestMismatch])
        #expect(healedFolder.file == Self.resource.content)
        let (failed, folder, requests) = try await download { respond($0, 9) }
        #expect(
            failed.error
                == .digestMismatch(.server, expected: wrong.sha256, actual: Self.resource.sha256, file: folder.aside)
        )
        #expect(requests.count == 2)
        #expect(folder.names == [".file.bin.squall-mismatch"])
    }

    /// The response after a body with the wrong digest: same tag, another, or none; complete or in two parts.
    @Test(arguments: ["\"v1\"", "\"v2\"", nil], [false, true])
    func `after a wrong digest a file without a digest is no success`(tag: String?, isCut: Bool) async throws {
        let digest = try #require(ReprDigest(sha256: [UInt8](repeating: 1, count: 32))).headerValue
        var other = Self.resource
        other.entityTag = tag
        let respond: @Sendable (ReceivedRequest) -> [Step] = { [other] request in
            switch request.ordinal {
            case 0: [Self.resource.full(["Repr-Digest: \(digest)"]), .send(Self.resource.content)]
            case 1 where isCut: other.serve(request, upTo: 20_000)
            default: other.serve(request)
            }
        }
        let (done, folder, _) = try await download(respond)
        #expect(done.error?.disposition == .final)
        #expect(folder.names == [".file.bin.squall-mismatch"])
        if tag != "\"v1\"" {
            #expect(done.error == .digestMissing(file: folder.aside))
            let (requested, askedFolder, _) = try await download(expecting: Self.resource.sha256, respond)
            #expect(requested.summary?.verified == [.caller])
            #expect(askedFolder.file == Self.resource.content)
        }
    }

    @Test func `a wrong digest is remembered by the next run`() async throws {
        let digest = try #require(ReprDigest(sha256: [UInt8](repeating: 1, count: 32))).headerValue
        var unnamed = Self.resource
        unnamed.entityTag = "\"v2\""
        let folder = try Folder()
        try await Script { [unnamed] request in
            switch request.ordinal {
            case 0: [Self.resource.full(["Repr-Digest: \(digest)"]), .send(Self.resource.content)]
            case 1: unnamed.serve(request, upTo: 20_000)
            case 2, 3: []
            default: unnamed.serve(request)
            }
        }.serve { server in
            let first = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                $0.retry.maximumAttempts = 2
            }
            #expect(first.error?.disposition == .resumable)
            let second = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(second.resumedAt == [20_000])
            #expect(second.error == .digestMissing(file: folder.aside))
            #expect(folder.names == [".file.bin.squall-mismatch"])
        }
    }

    @Test func `the caller's digest is checked; where the server vouches for the bytes it fails at once`() async throws
    {
        let (right, _, _) = try await download(expecting: Self.resource.sha256) { Self.resource.serve($0) }
        #expect(right.summary?.verified == [.caller])
        var digested = Self.resource
        digested.sendsDigest = true
        let other = [UInt8](repeating: 2, count: 32)
        let (wrong, folder, requests) = try await download(expecting: other) { [digested] in digested.serve($0) }
        #expect(
            wrong.error == .digestMismatch(.caller, expected: other, actual: Self.resource.sha256, file: folder.aside)
        )
        #expect(requests.count == 1)
        #expect(folder.names == [".file.bin.squall-mismatch"])
    }

    @Test func `a wrong file that can't be moved aside stays where it is, as the error says`() async throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.aside, withIntermediateDirectories: false)
        var digested = Self.resource
        digested.sendsDigest = true
        let other = [UInt8](repeating: 2, count: 32)
        try await Script { [digested] in digested.serve($0) }.serve { server in
            let request = DownloadRequest(url: server.url(), expectedSHA256: other)
            let wrong = await attempt(request, to: folder.destination)
            #expect(
                wrong.error
                    == .digestMismatch(.caller, expected: other, actual: Self.resource.sha256, file: folder.part)
            )
            #expect(folder.bytes(folder.part) == Self.resource.content)
        }
    }

    /// How often the file is fetched: a file from a single response isn't fetched again, and neither is one whose parts
    /// have two matching validators.
    @Test(arguments: [(false, true, 1), (true, true, 2), (true, false, 3)])
    func `a digest that was mistyped doesn't cost a second download`(
        isCut: Bool,
        hasDate: Bool,
        expected: Int
    ) async throws {
        var resource = Self.resource
        resource.lastModified = hasDate ? "Sun, 06 Nov 1994 08:49:36 GMT" : nil
        let served = resource
        let other = [UInt8](repeating: 2, count: 32)
        let (done, folder, requests) = try await download(expecting: other) { request in
            isCut && request.ordinal == 0 ? served.serve(request, upTo: 20_000) : served.serve(request)
        }
        #expect(
            done.error == .digestMismatch(.caller, expected: other, actual: served.sha256, file: folder.aside)
        )
        #expect(requests.count == expected)
    }

    @Test func `a body that ends with the connection is complete, and marked as unsure`() async throws {
        let (done, folder, _) = try await download { _ in [.head(200, ["ETag: \"v1\""]), .send(Self.resource.content)] }
        #expect(done.summary?.proof == DownloadProof.none(.lengthUnknown))
        #expect(folder.file == Self.resource.content)
        let (sure, _, _) = try await download(expecting: Self.resource.sha256) { _ in
            [.head(200, []), .send(Self.resource.content)]
        }
        #expect(sure.summary?.proof == .digest)
    }

    @Test func `a cut chunked body is resumed`() async throws {
        let (done, folder, _) = try await download { request in
            request.ordinal == 0
                ? [
                    .head(200, ["ETag: \"v1\"", "Transfer-Encoding: chunked"]), .text("C350\r\n"),
                    .send(Array(Self.resource.content.prefix(30_000))),
                ] : Self.resource.serve(request)
        }
        #expect(done.resumedAt == [30_000])
        #expect(folder.file == Self.resource.content)
    }

    @Test(arguments: [
        "HTTP/2.0 200 OK\r\n\r\n", "not HTTP at all\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 99 Low\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 999999 X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nETag: \"a\"\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 200) + "\r\n",
        String(repeating: "HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n", count: 100),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n\u{1}\u{2}",
    ])
    func `a malformed response never becomes a file`(response: String) async throws {
        let (done, folder, _) = try await download { _ in
            [.text(response)]
        } configure: {
            $0.retry.maximumAttempts = 2
        }
        #expect(done.error != nil)
        #expect(folder.file == nil)
    }

    @Test func `some interim responses are skipped`() async throws {
        let interim = Step.text(String(repeating: "HTTP/1.1 103 Early\r\nETag: \"other\"\r\n\r\n", count: 20))
        let (done, folder, _) = try await download { [interim] + Self.resource.serve($0) }
        #expect(done.summary?.connections == 1)
        #expect(folder.file == Self.resource.content)
    }
}
