import Synchronization
import TestStreams
import Testing
import TransferClient
import TransferProtocol

/// Complete files and their proofs.
@Suite(.timeLimit(.minutes(5))) struct ProofTests {
    /// A file with two strong validators and without a digest.
    private static let resource = {
        var resource = Resource(size: 300_000)
        resource.lastModified = "Sun, 06 Nov 1994 08:00:00 GMT"
        return resource
    }()

    @Test func `a single response is confirmed by another request when proof is required`() async throws {
        let (done, folder, requests) = try await download(requiresProof: true) { Self.resource.serve($0) }
        #expect(done.summary?.proof == .validators)
        #expect(requests.map(\.method) == ["GET", "HEAD"])
        #expect(folder.file == Self.resource.content)
        let (plain, _, single) = try await download { Self.resource.serve($0) }
        #expect(plain.summary?.proof == DownloadProof.none(.oneResponse))
        #expect(single.count == 1)
    }

    @Test func `a digest in the response is sufficient proof`() async throws {
        var digested = Self.resource
        digested.sendsDigest = true
        let (done, _, requests) = try await download(requiresProof: true) { [digested] in digested.serve($0) }
        #expect(done.summary?.proof == .digest)
        #expect(requests.count == 1)
    }

    @Test func `the confirmation request is retried while it fails temporarily`() async throws {
        let (done, _, requests) = try await download(requiresProof: true) {
            (1...3).contains($0.ordinal) ? [.head(503, ["Retry-After: 7"])] : Self.resource.serve($0)
        }
        #expect(done.summary?.proof == .validators)
        #expect(requests.count == 5)
        #expect(done.rules == [.retryAfter, .retryAfter, .retryAfter])
        let (away, folder, _) = try await download(requiresProof: true) {
            $0.ordinal == 0 ? Self.resource.serve($0) : []
        }
        #expect(away.error?.disposition == .resumable)
        #expect(folder.names == [".file.bin.squall-journal", ".file.bin.squall-part"])
    }

    @Test func `an unverified file is kept as the partial file, and becomes the file when no proof is required`()
        async throws
    {
        var tagged = Self.resource
        tagged.lastModified = nil
        let folder = try Folder()
        try await Script { [tagged] in tagged.serve($0) }.serve { server in
            let first = await attempt(
                DownloadRequest(url: server.url(), requiresProof: true),
                to: folder.destination
            )
            #expect(first.error == .unproved(.oneValidator))
            #expect(first.error?.disposition == .final)
            #expect(folder.names == [".file.bin.squall-journal", ".file.bin.squall-part"])
            let second = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(second.summary?.proof == DownloadProof.none(.oneValidator))
            #expect(second.summary?.connections == 0)
            #expect(folder.file == tagged.content)
        }
    }

    @Test func `a body cut where only the connection ends it is no proved file, and isn't kept`() async throws {
        let respond: @Sendable (ReceivedRequest) -> [Step] = { request in
            request.method == "HEAD"
                ? Self.resource.serve(request)
                : [.head(200, Self.resource.fields), .send(Array(Self.resource.content.prefix(100_000)))]
        }
        let (done, folder, _) = try await download(requiresProof: true, respond)
        #expect(done.error == .unproved(.contradicted))
        #expect(folder.names.isEmpty)
        let (plain, _, _) = try await download(respond)
        #expect(plain.summary?.proof == DownloadProof.none(.lengthUnknown))
    }

    @Test(arguments: ["keep-alive", "close"], [false, true])
    func `a body longer than its Content-Length leaves the file unverified`(connection: String, requiresProof: Bool)
        async throws
    {
        let (done, folder, _) = try await download(requiresProof: requiresProof) { request in
            let fields = Self.resource.fields + ["Content-Length: 200000", "Connection: \(connection)"]
            return [.head(200, fields)] + (request.method == "HEAD" ? [] : [.send(Self.resource.content)])
        }
        if requiresProof {
            #expect(done.error == .unproved(.excessBytes))
            #expect(folder.names.isEmpty)
        } else {
            #expect(done.summary?.proof == DownloadProof.none(.excessBytes))
        }
    }

    @Test func `a server that keeps the connection open after the file ends nothing but the wait for surplus`()
        async throws
    {
        let (done, folder, _) = try await download { Self.resource.serve($0) + [.stall] }
        #expect(done.summary?.proof == DownloadProof.none(.oneResponse))
        #expect(folder.file == Self.resource.content)
    }

    @Test(arguments: [false, true])
    func `a file swapped under its entity tag is unverified because of its date`(requiresProof: Bool) async throws {
        var swapped = Resource(size: 300_000, seed: 2)
        swapped.lastModified = "Sun, 06 Nov 1994 08:30:00 GMT"
        // The overlap is the same: only the date tells.
        swapped.content.replaceSubrange(..<100_000, with: Self.resource.content[..<100_000])
        let (done, folder, _) = try await download(requiresProof: requiresProof) { [swapped] in
            $0.ordinal == 0 ? Self.resource.serve($0, upTo: 100_000) : swapped.serve($0)
        }
        if requiresProof {
            #expect(done.error == .unproved(.dateDiffers))
            #expect(folder.names.isEmpty)
        } else {
            #expect(done.summary?.proof == DownloadProof.none(.dateDiffers))
        }
    }

    @Test func `a reason for being unverified survives the end of a run`() async throws {
        let folder = try Folder()
        try await Script { request in
            var swapped = Self.resource
            if request.ordinal == 1 { swapped.lastModified = "Sun, 06 Nov 1994 08:30:00 GMT" }
            switch request.ordinal {
            case 0, 1: return swapped.serve(request, upTo: 100_000)
            case 2: return []
            default: return swapped.serve(request)
            }
        }.serve { server in
            _ = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                $0.retry.maximumAttempts = 1
            }
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(done.summary?.bytesRecovered == 150_000)
            #expect(done.summary?.proof == DownloadProof.none(.dateDiffers))
        }
    }

    @Test(arguments: [16, 64, 256])
    func `cuts at every few KiB, heads included, cost no wait`(kibibytes: Int) async throws {
        let resource = Resource(size: 1 << 20)
        let cut = kibibytes << 10
        let (done, folder, _) = try await download { resource.serve($0, upTo: cut - 300) }
        // Each connection but the first repeats half of what one brings, at most 64 KiB.
        let count = cut - 300
        let new = count - min(count / 2, 64 << 10)
        #expect(done.summary?.connections == 1 + ((1 << 20) - count + new - 1) / new)
        #expect(done.waits.isEmpty)
        #expect(done.rules.allSatisfy { [.progress(Int64(count)), .progress(Int64(new))].contains($0) })
        #expect(folder.file == resource.content)
    }

    @Test func `a file that is replaced in the middle arrives through cuts, without a wait`() async throws {
        let first = Resource(size: 1 << 20)
        var second = Resource(size: 1 << 20, seed: 2)
        second.entityTag = "\"v2\""
        let (done, folder, _) = try await download { [second] in
            ($0.ordinal < 12 ? first : second).serve($0, upTo: 60_000)
        }
        #expect(done.restarts == [.representationChanged])
        #expect(done.waits.isEmpty)
        #expect(folder.file == second.content)
    }
}
