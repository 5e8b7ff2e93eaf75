import Synchronization
import TestStreams
import Testing
import TransferClient
import TransferProtocol
import Units

/// Servers with a random behaviour per connection, drawn from a seed.
@Suite(.timeLimit(.minutes(5))) struct NeverAWrongFileTests {
    private static let versions: [Resource] = (0..<2).map { index in
        var resource = Resource(size: 60_000 + index * 5_000, seed: UInt64(20 + index))
        resource.entityTag = "\"v\(index)\""
        return resource
    }

    @Test(arguments: 0..<60)
    func `whatever a server does, the file is correct or absent`(seed: Int) async throws {
        let folder = try Folder()
        let key = RandomKey(seed: UInt64(seed))
        let isHonest = Atomic(false)
        try await Script { request in
            isHonest.load(ordering: .relaxed)
                ? Self.versions[0].serve(request) : Self.misbehave(request, key.adding(UInt64(request.ordinal)))
        }.serve { server in
            // Several runs, each resuming the previous one. The last has to succeed.
            for run in 0..<7 {
                isHonest.store(run == 6, ordering: .relaxed)
                let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.retry.maximumAttempts = 4
                    $0.seed = UInt64(run)
                }
                switch done.result {
                case .success(let summary):
                    #expect(Self.versions.contains { $0.sha256 == summary.sha256 && $0.content == folder.file })
                    #expect(folder.names == ["file.bin"])
                    return
                case .failure(let error):
                    #expect(folder.file == nil)
                    if run == 6 { Issue.record("an honest server is of no use: \(error)") }
                }
            }
        }
    }

    /// One of a dozen responses, half of them correct for some bytes and then cut.
    private static func misbehave(_ request: ReceivedRequest, _ key: RandomKey) -> [Step] {
        // The file changes from time to time, and changes back.
        let resource = versions[key.fraction(at: 0) < 0.8 ? 0 : 1]
        let size = resource.content.count
        let cut = Int(key.fraction(at: 1) * Double(size))
        let start = request.rangeStart ?? 0
        let shift = Int(key.fraction(at: 2) * 100) - 50
        let from = max(0, min(size - 1, start + shift))
        switch Int(key.fraction(at: 3) * 16) {
        case 0: return [.head(503, ["Retry-After: 1"])]
        case 1: return [.head(404, [])]
        case 2: return [resource.full(), .send(Array(resource.content.prefix(cut)))]
        case 3: return [resource.part(from: from), .send(Array(resource.content[from...]))]
        case 4:
            // The bytes are another version's. Only an overlap can reveal it, so there must be one.
            guard from < min(start, versions[0].content.count) else { return resource.serve(request) }
            return [versions[0].part(from: from), .send(Array(versions[1].content[from..<versions[0].content.count]))]
        case 5: return [.head(206, ["Content-Length: \(size - from)"]), .send(Array(resource.content[from...]))]
        case 6: return [.head(416, ["Content-Range: bytes */\(cut)", "ETag: \(resource.entityTag ?? "")"])]
        case 7: return [.head(416, []), .text("range?")]
        case 8:
            let chunk = String(max(1, cut), radix: 16)
            return [
                .head(200, resource.fields + ["Transfer-Encoding: chunked"]), .text("\(chunk)\r\n"),
                .send(Array(resource.content.prefix(max(1, cut)))), .reset,
            ]
        case 9: return [.text("HTTP/1.1 20"), .reset]
        case 10:
            let last = min(size - 1, start + max(0, cut / 4))
            guard start <= last else { return resource.serve(request) }
            return [resource.part(from: start, through: last), .send(Array(resource.content[start...last]))]
        case 11: return [.text(String(repeating: "HTTP/1.1 103 Early\r\n\r\n", count: 9))] + resource.serve(request)
        default: return resource.serve(request, upTo: cut, then: key.fraction(at: 4) < 0.3 ? .reset : nil)
        }
    }
}
