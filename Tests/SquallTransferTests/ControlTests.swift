import FoundationEssentials
import Logging
import SquallTransfer
import Synchronization
import TestSockets
import TestStreams
import TestUploadServers
import Testing
import Units

@testable import FaultProfile

/// How a caller ends, discards and follows transfers.
@Suite(.timeLimit(.minutes(5))) struct ControlTests {
    private static let content = testBytes(1_000_000)
    private static let stall = FaultKind.stall(Stall(at: ByteCount(400_000), duration: .seconds(600)))

    @Test func `a download that is discarded leaves no partial file, by itself or by its token`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { _, host, port in
            try await withFaults([Self.stall], on: .downstream, before: host, port) { url in
                let session = mine.session()
                for usesToken in [false, true] {
                    let transfer = session.download(for: TransferRequest(url + "/file.bin"), to: mine.file("copy.bin"))
                    for try await status in transfer where status.completedBytes >= 300_000 { break }
                    if usesToken {
                        let token = try #require(await transfer.pause())
                        #expect(mine.names.contains(".copy.bin.squall-part"))
                        try await session.discard(token)
                        try await session.discard(token)
                    } else {
                        try await transfer.discard()
                        #expect(transfer.status.phase == .cancelled)
                    }
                    #expect(mine.names.isEmpty)
                }
            }
            let whole = mine.session().download(
                for: TransferRequest("http://\(host):\(port)/file.bin"),
                to: mine.file("a")
            )
            _ = try await whole.value
            try await whole.discard()
            #expect(mine.bytes(of: "a") == Self.content)
        }
    }

    @Test func `a download of a file that another one has leaves that one's bytes when it is discarded`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { _, host, port in
            try await withFaults([Self.stall], on: .downstream, before: host, port) { url in
                let (session, request) = (mine.session(), TransferRequest(url + "/file.bin"))
                let first = session.download(for: request, to: mine.file("copy.bin"))
                for try await status in first where status.completedBytes >= 300_000 { break }
                let second = session.download(for: request, to: mine.file("copy.bin"))
                let error = await #expect(throws: TransferError.self) { try await second.value }
                #expect(error?.code == .locked)
                try await second.discard()
                #expect(await first.pause() != nil)
                try await second.discard()
                #expect(mine.names.contains(".copy.bin.squall-part"))
            }
        }
    }

    @Test func `values for tests of callbacks are made by their callers`() {
        let response = TransferResponse(status: 200, headers: [.contentType: "a/b"])
        #expect(response["content-type"] == "a/b" && response.url.isEmpty)
        #expect(InterimResponse(status: 103).headers.isEmpty)
        #expect(TransferRetry(code: "status", status: 503).delay == .zero)
        var status = TransferStatus()
        status.lastResumption = TransferStatus.Resumption(offset: 7, instant: .now)
        #expect(status.phase == .preparing)
        let error = TransferError(.refused, "no", status: 404)
        #expect(error == TransferError(.refused, "no", status: 404) && error.errorDescription == "no")
    }

    @Test func `an upload that is discarded is deleted at the server`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try mine.write(Self.content, to: "file.bin")
        let uploads = { (try? FileManager.default.contentsOfDirectory(atPath: served.file(".squall-uploads")))?.count }
        try await withOrigin(served) { origin, host, port in
            try await withFaults([Self.stall], on: .upstream, before: host, port) { url in
                let session = mine.session()
                for isFile in [true, false] {
                    let request = TransferRequest(url + "/\(isFile).bin")
                    let transfer =
                        isFile
                        ? session.upload(for: request, from: mine.file("file.bin"))
                        : session.upload(for: request, from: Self.content)
                    for try await status in transfer where status.resumability == .continues { break }
                    let token = try #require(await transfer.pause())
                    // A log and data, beside the lock.
                    #expect(uploads() == 3)
                    if token.file.isEmpty {
                        try await transfer.discard()
                    } else {
                        try await session.discard(token)
                    }
                    #expect(uploads() == 1)
                    #expect(try FileManager.default.contentsOfDirectory(atPath: mine.file("state")).isEmpty)
                }
            }
        }
    }

    @Test func `an upload that the server refuses to continue can be resumed, and discarded by its token`()
        async throws
    {
        var habits = UploadServerHabits()
        habits.cut = { $0 == 0 ? 400_000 : nil }
        habits.refuse = { ordinal, _ in ordinal == 1 ? 403 : nil }
        try await withUploadServer(.dialect(.v10), habits) { server in
            let mine = try Folder()
            try mine.write(Self.content, to: "file.bin")
            let session = mine.session()
            let error = await #expect(throws: TransferError.self) {
                try await session.upload(for: TransferRequest(server.url), from: mine.file("file.bin")).value
            }
            #expect(error?.code == .refused && error?.status == 403 && error?.resumability == .continues)
            try await session.discard(try #require(error?.token))
            #expect(server.requests.last?.method == "DELETE")
            #expect(try FileManager.default.contentsOfDirectory(atPath: mine.file("state")).isEmpty)
        }
    }

    @Test func `a caller's predicate ends a transfer, and is told of each failure`() async throws {
        let server = ScriptedServer { number, _, socket in
            if number > 0 { try socket.send(Array("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".utf8)) }
        }
        let mine = try Folder()
        let told = Mutex<[TransferRetry]>([])
        let session = mine.session { configuration in
            configuration.maximumBackoff = .milliseconds(1)
            configuration.shouldRetry = { retry in
                told.withLock { $0.append(retry) }
                return retry.status == nil
            }
        }
        let transfer = session.download(for: TransferRequest(server.url), to: mine.file("a"))
        let error = await #expect(throws: TransferError.self) { try await transfer.value }
        #expect(error?.code == .gaveUp && error?.isResumable == true)
        #expect(await transfer.pause() == nil)
        #expect(told.withLock { $0.map(\.code) } == ["connection-lost", "status"])
        #expect(told.withLock { $0.last?.status } == 503)
    }

    @Test func `a logger has what happens to a transfer`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        let lines = Lines()
        let cut = FaultKind.cut(Cut(position: .every(ByteCount(400_000)), how: .reset))
        try await withOrigin(served) { _, host, port in
            try await withFaults([cut], on: .downstream, before: host, port) { url in
                let session = mine.session { $0.logger = Logger(label: "test") { _ in lines } }
                let request = TransferRequest(try #require(URL(string: url + "/file.bin")))
                let result = try await session.download(for: request, to: mine.file("copy.bin")).value
                #expect(result.headers[.acceptRanges] == "bytes")
            }
        }
        let texts = lines.texts.all.withLock { $0 }
        #expect(texts.first == "info transfer started")
        #expect(texts.contains("notice attempt failed") && texts.contains("info transfer resumed"))
        #expect(texts.last == "info transfer finished")
    }

    @Test func `a request of HTTPTypes has its URL, method and fields`() {
        let head = HTTPRequest(
            method: .post,
            scheme: "http",
            authority: "a.example:8080",
            path: "/x?y",
            headerFields: [.contentType: "text/plain", .accept: "a/b"]
        )
        let request = TransferRequest(head)
        #expect(request.url == "http://a.example:8080/x?y")
        #expect(request.method == .post && request.contentType == "text/plain")
        #expect(request.headers == [.accept: "a/b"])
    }
}

/// Keeps what is logged.
private struct Lines: LogHandler {
    final class Texts: Sendable {
        let all = Mutex<[String]>([])
    }

    let texts = Texts()
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { texts.all.withLock { $0.append("\(event.level) \(event.message)") } }
}
