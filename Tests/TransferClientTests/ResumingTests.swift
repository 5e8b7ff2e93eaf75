import Foundation
import TestSockets
import TestStreams
import Testing
import TransferClient
import TransferProtocol

@Suite(.timeLimit(.minutes(5))) struct ResumingTests {
    private let resource = Resource(size: 300_000)

    @Test func `a plain download is complete, in its place, and alone in its folder`() async throws {
        let folder = try Folder()
        try await Script { [resource] in resource.serve($0) }.serve { server in
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            let summary = try done.result.get()
            #expect(folder.file == resource.content)
            #expect(folder.names == ["file.bin"])
            #expect(summary.bytes == 300_000)
            #expect(summary.sha256 == resource.sha256)
            #expect(summary.connections == 1)
            #expect(summary.bytesTransferred == 300_000)
            #expect(summary.bytesRepeated == 0)
            #expect(summary.verified == [])
            #expect(summary.proof != .none(.lengthUnknown))
            #expect(done.events.first == .started(completed: 0))
            #expect(done.events.last == .finished(summary))
            let request = try #require(server.requests.first)
            #expect(request.fields["range"] == nil)
            #expect(request.fields["accept-encoding"] == "identity")
            #expect(request.fields["want-repr-digest"] == "sha-256=9")
            #expect(request.fields["host"] == "127.0.0.1:\(server.port)")
        }
    }

    @Test func `a long download without a digest requests one at its end`() async throws {
        let folder = try Folder()
        var informed = resource
        informed.sendsDigest = true
        try await Script { [resource, informed] in ($0.method == "HEAD" ? informed : resource).serve($0) }.serve {
            server in
            let request = DownloadRequest(url: server.url())
            let done = await attempt(request, to: folder.destination) { $0.lateDigestInterval = .zero }
            #expect(done.summary?.verified == [.server])
            #expect(done.summary?.bytesTransferred == 300_000)
            #expect(server.requests.map(\.method) == ["GET", "HEAD"])
            #expect(server.requests.last?.fields["want-repr-digest"] == "sha-256=9")
            #expect(folder.file == resource.content)
        }
    }

    @Test func `a mismatching digest at the end has the file fetched once more`() async throws {
        let folder = try Folder()
        var informed = resource
        informed.sendsDigest = true
        var damaged = resource
        damaged.content[7] ^= 1
        let respond: @Sendable (ReceivedRequest) -> [Step] = { [damaged, informed] in
            ($0.ordinal == 0 ? damaged : informed).serve($0)
        }
        try await Script(respond).serve { server in
            let request = DownloadRequest(url: server.url())
            let done = await attempt(request, to: folder.destination) { $0.lateDigestInterval = .zero }
            #expect(done.restarts == [.digestMismatch])
            #expect(done.summary?.verified == [.server])
            #expect(server.requests.map(\.method) == ["GET", "HEAD", "GET"])
            #expect(folder.file == informed.content)
        }
    }

    @Test(arguments: [
        [Step.head(405, [])], [.head(503, ["Retry-After: 100"])], [.reset], [.text("no HTTP")], [.head(302, [])],
        [.head(200, ["ETag: \"v2\"", "Content-Length: 300000"])],
        [.head(200, ["ETag: \"v1\"", "Content-Length: 299999"])],
        [.head(200, ["ETag: \"v1\"", "Content-Length: 300000"])],
    ])
    func `a complete file stays complete whatever the response to the request for its digest`(response: [Step])
        async throws
    {
        let (done, folder, requests) = try await download { [resource] in
            $0.method == "HEAD" ? response : resource.serve($0)
        } configure: {
            $0.lateDigestInterval = .zero
        }
        #expect(done.summary?.verified == [])
        #expect(done.restarts.isEmpty && done.waits.isEmpty)
        #expect(requests.map(\.method) == ["GET", "HEAD"])
        #expect(folder.file == resource.content)
        #expect(folder.names == ["file.bin"])
    }

    @Test func `no digest is requested if one is known or there is no validator to request it for`() async throws {
        var reported = resource
        reported.sendsDigest = true
        var unnamed = resource
        unnamed.entityTag = nil
        for (resource, expected) in [(reported, nil), (unnamed, nil), (self.resource, self.resource.sha256)] {
            let (done, _, requests) = try await download(expecting: expected) { [resource] in
                resource.serve($0)
            } configure: {
                $0.lateDigestInterval = .zero
            }
            #expect(done.summary?.connections == 1)
            #expect(requests.map(\.method) == ["GET"])
        }
    }

    @Test func `an empty file is a file`() async throws {
        let empty = Resource(size: 0)
        let (done, folder, _) = try await download { empty.serve($0) }
        #expect(done.summary?.bytes == 0)
        #expect(folder.file == [])
    }

    @Test(arguments: [false, true])
    func `after a cut the next connection requests the rest, under the validator`(withReset: Bool) async throws {
        let respond: @Sendable (ReceivedRequest) -> [Step] = { [resource] in
            $0.ordinal < 3
                ? resource.serve($0, upTo: 70_000, then: withReset ? .reset : nil) : resource.serve($0)
        }
        let (done, folder, requests) = try await download(respond)
        let summary = try done.result.get()
        #expect(folder.file == resource.content)
        #expect(summary.restarts == 0)
        if !withReset { #expect(summary.bytesRepeated == 105_000) }
        #expect(summary.bytesCompared == summary.bytesRepeated)
        let last = try #require(requests.last)
        if !withReset {
            #expect(done.resumedAt == [70_000, 105_000, 140_000])
            #expect(last.fields["range"] == "bytes=105000-")
        }
        #expect(last.fields["if-range"] == "\"v1\"")
        #expect(summary.connections == requests.count)
    }

    @Test func `an older Last-Modified resumes as well, and goes back unchanged`() async throws {
        var dated = resource
        dated.entityTag = nil
        dated.lastModified = "Sunday, 06-Nov-94 08:49:36 GMT"
        let (done, folder, requests) = try await download { [dated] in
            $0.ordinal == 0 ? dated.serve($0, upTo: 1_000) : dated.serve($0)
        }
        #expect(done.summary?.resumptions == 1)
        #expect(folder.file == resource.content)
        #expect(requests.last?.fields["if-range"] == "Sunday, 06-Nov-94 08:49:36 GMT")
    }

    @Test(arguments: ["W/\"v1\"", nil, "no tag"])
    func `without a strong validator the next range repeats half of what came`(entityTag: String?) async throws {
        var unsure = resource
        unsure.entityTag = entityTag
        // In the same second as Date: not strong.
        unsure.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
        let (done, folder, requests) = try await download { [unsure] in
            $0.ordinal == 0 ? unsure.serve($0, upTo: 1_000) : unsure.serve($0)
        }
        let summary = try done.result.get()
        #expect(folder.file == resource.content)
        #expect(done.restarts == [])
        #expect(summary.bytesRepeated == 500)
        #expect(summary.bytesCompared == 500)
        #expect(summary.proof == .none(.overlapOnly))
        let last = try #require(requests.last)
        #expect(last.fields["range"] == "bytes=500-")
        #expect(last.fields["if-range"] == nil)
        #expect(last.fields["if-unmodified-since"] == (entityTag == "no tag" ? nil : unsure.lastModified))
    }

    @Test func `a server that ignores ranges is downloaded from again, from the start`() async throws {
        let (done, folder, _) = try await download { [resource] in
            [resource.full(), .send(Array(resource.content.prefix($0.ordinal == 0 ? 100_000 : 300_000)))]
        }
        #expect(done.summary?.bytesRepeated == 100_000)
        #expect(done.restarts == [.rangeIgnored])
        #expect(folder.file == resource.content)
    }

    @Test func `a file that changed on the server is never spliced`() async throws {
        var changed = Resource(size: 200_000, seed: 9)
        changed.entityTag = "\"v2\""
        let (done, folder, _) = try await download { [resource, changed] in
            $0.ordinal == 0 ? resource.serve($0, upTo: 150_000) : changed.serve($0)
        }
        #expect(done.summary?.sha256 == changed.sha256)
        #expect(done.restarts == [.representationChanged])
        #expect(folder.file == changed.content)
    }

    @Test func `a run that gave up is continued by the next one`() async throws {
        let folder = try Folder()
        try await Script { [resource] in
            switch $0.ordinal {
            case 0, 2: resource.serve($0, upTo: 100_000)
            case 1, 3: []
            default: resource.serve($0)
            }
        }.serve { server in
            let request = DownloadRequest(url: server.url())
            let first = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
            #expect(first.error?.disposition == .resumable)
            #expect(folder.names == [".file.bin.squall-journal", ".file.bin.squall-part"])
            let second = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
            #expect(second.events.first == .started(completed: 100_000))
            #expect(second.error?.disposition == .resumable)
            let third = try await attempt(request, to: folder.destination).result.get()
            #expect(third.bytesRecovered == 150_000)
            #expect(third.bytesTransferred == 150_000 + 65_536)
            #expect(third.bytesCompared == 65_536)
            #expect(folder.file == resource.content)
            #expect(folder.names == ["file.bin"])
        }
    }

    @Test func `whatever the journal doesn't promise is fetched again`() async throws {
        let folder = try Folder()
        try await Script { [resource] in
            resource.serve($0, interruptedAfter: 100_000)
        }.serve { server in
            let request = DownloadRequest(url: server.url())
            _ = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
            let received = try #require(folder.bytes(folder.part))
            try folder.write(received + [1, 2, 3], at: folder.part)
            let done = await attempt(request, to: folder.destination)
            #expect(done.resumedAt == [100_000])
            #expect(folder.file == resource.content)
        }
    }

    @Test(arguments: ["short file", "no journal", "version 0"])
    func `a partial file that its journal doesn't fit starts over`(damage: String) async throws {
        let folder = try Folder()
        try await Script { [resource] in
            resource.serve($0, interruptedAfter: 100_000)
        }.serve { server in
            let request = DownloadRequest(url: server.url())
            _ = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
            var part = try #require(folder.bytes(folder.part))
            var journal = try #require(folder.bytes(folder.journal))
            switch damage {
            case "short file": part.removeLast()
            case "no journal": journal = []
            default: journal[8] = 0
            }
            try folder.write(part, at: folder.part)
            try folder.write(journal, at: folder.journal)
            let done = await attempt(request, to: folder.destination)
            #expect(folder.file == resource.content)
            #expect(server.requests.last?.fields["range"] == nil)
            if damage != "short file" { #expect(done.restarts == [.journalUnusable]) }
        }
    }

    /// A folder with the first 100,000 bytes of `resource` from the path `/a?signed=1`.
    private func interrupted(_ server: ScriptedServer) async throws -> Folder {
        let folder = try Folder()
        let request = DownloadRequest(url: server.url("/a?signed=1"))
        let done = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
        #expect(done.error?.disposition == .resumable)
        #expect(folder.bytes(folder.part) == Array(resource.content.prefix(100_000)))
        return folder
    }

    @Test func `received bytes stay on disk until a response replaces them`() async throws {
        let nobody = TestSocket.refusing()
        try await Script { [resource] request in
            switch request.target {
            case "/gone": [.head(404, ["Content-Length: 0"])]
            default: resource.serve(request, interruptedAfter: 100_000)
            }
        }.serve { server in
            let folder = try await interrupted(server)
            let part = folder.bytes(folder.part)
            for url in [server.url("/gone"), "http://127.0.0.1:\(nobody.address.port)/x"] {
                let failed = await attempt(DownloadRequest(url: url), to: folder.destination) {
                    $0.retry.maximumAttempts = 1
                }
                #expect(failed.error != nil)
                #expect(failed.events.first == .started(completed: 100_000))
                #expect(folder.bytes(folder.part) == part)
            }
            let done = await attempt(DownloadRequest(url: server.url("/a?signed=1")), to: folder.destination)
            #expect(done.resumedAt == [100_000])
            #expect(folder.file == resource.content)
        }
    }

    @Test func `bytes without a readable journal stay until a response takes their place`() async throws {
        let nobody = TestSocket.refusing()
        let folder = try Folder()
        try folder.write([1, 2, 3], at: folder.part)
        try folder.write([4, 5], at: folder.journal)
        let failed = await attempt(
            DownloadRequest(url: "http://127.0.0.1:\(nobody.address.port)/x"),
            to: folder.destination
        ) {
            $0.retry.maximumAttempts = 1
        }
        #expect(failed.error?.disposition == .resumable)
        #expect(folder.bytes(folder.part) == [1, 2, 3])
        #expect(folder.bytes(folder.journal) == [4, 5])
        let (done, _, _) = try await download(into: folder) { [resource] in resource.serve($0) }
        #expect(done.restarts == [.journalUnusable])
        #expect(folder.file == resource.content)
        #expect(folder.names == ["file.bin"])
    }

    @Test func `a journal of a newer version is refused and left alone`() async throws {
        let folder = try Folder()
        try folder.write([1, 2, 3], at: folder.part)
        let journal = Array("SquallDl".utf8) + [Journal.version + 1, 7]
        try folder.write(journal, at: folder.journal)
        let (done, _, requests) = try await download(into: folder) { [resource] in resource.serve($0) }
        #expect(done.error?.disposition == .invalidInput)
        #expect(done.error?.description.contains("newer version of Squall (\(Journal.version + 1))") == true)
        #expect(requests.isEmpty)
        #expect(folder.bytes(folder.part) == [1, 2, 3])
        #expect(folder.bytes(folder.journal) == journal)
    }

    @Test func `a newly signed URL resumes, and has to repeat some received bytes`() async throws {
        try await Script { [resource] in resource.serve($0, interruptedAfter: 100_000) }.serve { server in
            let folder = try await interrupted(server)
            let done = await attempt(DownloadRequest(url: server.url("/a?signed=2")), to: folder.destination)
            #expect(done.resumedAt == [100_000])
            #expect(done.restarts.isEmpty)
            #expect(server.requests.last?.fields["range"] == "bytes=\(100_000 - 65_536)-")
            #expect(folder.file == resource.content)
        }
    }

    @Test func `another file behind the same path and the same tag isn't joined`() async throws {
        let other = Resource(size: resource.content.count, seed: 9)
        try await Script { [resource] request in
            request.target == "/a?signed=1" ? resource.serve(request, interruptedAfter: 100_000) : other.serve(request)
        }.serve { server in
            let folder = try await interrupted(server)
            let done = await attempt(DownloadRequest(url: server.url("/a?id=2")), to: folder.destination)
            #expect(done.restarts == [.rangeUnusable(.overlapDiffers)])
            #expect(folder.file == other.content)
        }
    }

    @Test func `a redirector between mirrors with their own tags finishes, each part from the mirror that served last`()
        async throws
    {
        var mirrors = [resource, resource]
        for index in mirrors.indices { mirrors[index].entityTag = "\"m\(index)\"" }
        let (done, folder, requests) = try await download { [mirrors] request in
            switch request.target {
            case "/m0": mirrors[0].serve(request, upTo: 50_000)
            case "/m1": mirrors[1].serve(request, upTo: 50_000)
            default: [.head(302, ["Location: /m\(request.ordinal % 2)", "Content-Length: 0"])]
            }
        }
        #expect(done.error == nil)
        #expect(done.restarts.isEmpty)
        #expect(requests.map(\.target).prefix(4) == ["/file.bin", "/m0", "/m0", "/m0"])
        #expect(folder.file == resource.content)
    }

    @Test func `if the last mirror is gone, the original URL redirects to another`() async throws {
        let (done, folder, requests) = try await download { [resource] request in
            switch request.target {
            case "/m?1" where request.ordinal < 2: resource.serve(request, upTo: 50_000)
            case "/m?1": [.head(403, ["Content-Length: 0"])]
            case "/m?2": resource.serve(request)
            default: [.head(302, ["Location: /m?\(request.ordinal == 0 ? 1 : 2)", "Content-Length: 0"])]
            }
        }
        #expect(done.error == nil)
        #expect(done.resumedAt == [50_000])
        #expect(requests.map(\.target) == ["/file.bin", "/m?1", "/m?1", "/file.bin", "/m?2"])
        #expect(folder.file == resource.content)
    }

    @Test func `the bytes of another URL are not continued`() async throws {
        let folder = try Folder()
        try await Script { [resource] in
            resource.serve($0, interruptedAfter: 100_000)
        }.serve { server in
            _ = await attempt(DownloadRequest(url: server.url("/a")), to: folder.destination) {
                $0.retry.maximumAttempts = 1
            }
            let done = await attempt(DownloadRequest(url: server.url("/b")), to: folder.destination)
            #expect(done.restarts == [.differentURL])
            #expect(folder.file == resource.content)
        }
    }
}
