import DevelopmentCA
import SquallTransfer
import Synchronization
import TLSTransport
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

@Suite(.timeLimit(.minutes(5))) struct TransferTests {
    private static let content = testBytes(1_000_000)
    private static let cut = FaultKind.cut(Cut(position: .every(ByteCount(150_000)), how: .reset))

    /// All statuses that a reader received, and whether the last one was final.
    private func statuses(of transfer: Transfer<some Sendable>) async throws -> [TransferStatus] {
        var seen: [TransferStatus] = []
        for try await status in transfer { seen.append(status) }
        return seen
    }

    @Test func `a download through cuts arrives complete, and its statuses report how`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { _, host, port in
            try await withFaults([Self.cut], on: .downstream, before: host, port) { url in
                let transfer = mine.session().download(
                    for: TransferRequest(url + "/file.bin"),
                    to: mine.file("copy.bin")
                )
                let seen = try await statuses(of: transfer)
                let result = try await transfer.value
                #expect(mine.bytes(of: "copy.bin") == Self.content)
                #expect(result.bytes == 1_000_000)
                #expect(result.file == mine.file("copy.bin"))
                #expect(result.resumptions >= 5)
                #expect(result.isVerified)
                let last = try #require(seen.last)
                #expect(last.phase == .finished)
                #expect(last.fraction == 1)
                #expect(last.resumptions == result.resumptions)
                let resumption = try #require(last.lastResumption)
                #expect((750_000..<1_000_000).contains(resumption.offset) && resumption.instant < .now)
                let isInOrder = zip(seen, seen.dropFirst()).allSatisfy { $0.completedBytes <= $1.completedBytes }
                #expect(isInOrder)
                // A late reader gets the end immediately.
                #expect(try await statuses(of: transfer) == [last])
            }
        }
    }

    @Test func `no kind of transfer uses a network whose cost its request doesn't allow`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write([1, 2, 3], to: "file.bin")
        try await withOrigin(served) { url, _, _ in
            for cost in [NetworkCost.expensive, .constrained] {
                let session = mine.session {
                    $0.networkCost = { host in host == "127.0.0.1" ? cost : [] }
                    $0.maximumAttempts = 1
                }
                for isAllowed in [false, true] {
                    var request = TransferRequest(url + "/file.bin")
                    if cost == .expensive {
                        request.allowsExpensive = isAllowed
                    } else {
                        request.allowsConstrained = isAllowed
                    }
                    var upload = request
                    upload.url = url + "/copy.bin"
                    let outcomes: [() async throws -> Void] = [
                        { _ = try await session.data(for: request) },
                        { _ = try await session.bytes(for: request) },
                        { _ = try await session.download(for: request, to: mine.file("copy.bin")).value },
                        { _ = try await session.upload(for: upload, from: [1, 2]).value },
                    ]
                    for outcome in outcomes {
                        do {
                            try await outcome()
                            #expect(isAllowed)
                        } catch let error as TransferError {
                            #expect(!isAllowed)
                            #expect(error.code == .connectionFailed || error.code == .gaveUp)
                            #expect(error.message.contains("expensive or constrained"), "\(error)")
                        }
                    }
                }
            }
        }
    }

    @Test func `an upload through cuts arrives complete, and its statuses count what the server has`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try mine.write(Self.content, to: "file.bin")
        try await withOrigin(served) { _, host, port in
            try await withFaults([Self.cut], on: .upstream, before: host, port) { url in
                let reported = Mutex<[TransferStatus]>([])
                let transfer = mine.session().upload(
                    for: TransferRequest(url + "/copy.bin"),
                    from: mine.file("file.bin")
                ) { status in reported.withLock { $0.append(status) } }
                let result = try await transfer.value
                #expect(served.bytes(of: "copy.bin") == Self.content)
                #expect(result.resumptions >= 3)
                #expect(result.proof == .digest || result.proof == .accepted || result.proof == .complete)
                let statuses = reported.withLock { $0 }
                #expect(statuses.last?.phase == .finished)
                #expect(statuses.last?.completedBytes == 1_000_000)
                let isBehind = statuses.allSatisfy { $0.completedBytes <= $0.sentBytes }
                #expect(isBehind)
            }
        }
    }

    @Test func `a paused download resumes from its token, in another session`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { origin, host, port in
            let stall = FaultKind.stall(Stall(at: ByteCount(400_000), duration: .seconds(600)))
            let token = try await withFaults([stall], on: .downstream, before: host, port) { url in
                let transfer = mine.session().download(
                    for: TransferRequest(url + "/file.bin"),
                    to: mine.file("copy.bin")
                )
                for try await status in transfer where status.completedBytes >= 300_000 { break }
                let token = try #require(await transfer.pause())
                #expect(transfer.status.phase == .paused)
                #expect(await transfer.pause() == token)
                return token
            }
            #expect(mine.bytes(of: "copy.bin") == nil)
            let read = try ResumptionToken(token.text)
            #expect(read == token)
            let transfer = try mine.session().resumeDownload(read) { $0.url = origin + "/file.bin" }
            let result = try await transfer.value
            #expect(result.bytesRecovered >= 300_000)
            #expect(mine.bytes(of: "copy.bin") == Self.content)
            #expect(await transfer.pause() == nil)
        }
    }

    @Test func `a transfer is made, stored, and started later`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try mine.write(Self.content, to: "file.bin")
        try await withOrigin(served) { origin, _, _ in
            var request = TransferRequest(origin + "/copy.bin")
            request.contentType = "text/plain"
            let upload = try TransferJob(TransferJob(uploading: request, from: mine.file("file.bin")).text)
            #expect(upload.contentType == "text/plain")
            let sent = try await mine.session().resumeUpload(upload).value
            #expect(sent.response?.status == 201)
            #expect(sent.response?.headers[.location] != nil)
            #expect(served.bytes(of: "copy.bin") == Self.content)
            let download = try TransferJob(TransferJob(downloading: request, to: mine.file("copy.bin")).text)
            _ = try await mine.session().resumeDownload(download).value
            #expect(mine.bytes(of: "copy.bin") == Self.content)
        }
    }

    @Test func `a cancelled upload resumes from the token of its error`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try mine.write(Self.content, to: "file.bin")
        try await withOrigin(served) { _, host, port in
            let cut = FaultKind.cut(Cut(position: .inTurn([ByteCount(400_000)]), how: .reset))
            try await withFaults([cut], on: .upstream, before: host, port) { url in
                var request = TransferRequest(url + "/copy.bin")
                request.contentType = "text/plain"
                let first = mine.session { $0.maximumAttempts = 1 }.upload(for: request, from: mine.file("file.bin")) {
                    _ in
                }
                for try await status in first where status.sentBytes > 200_000 { break }
                first.cancel()
                let error = await #expect(throws: TransferError.self) { try await first.value }
                let token = try #require(error?.token)
                #expect(token.contentType == "text/plain")
                #expect(token.stateFolder == mine.file("state"))
                let other = TransferSession()
                #expect(throws: TransferError.self) { try other.resumeDownload(token) }
                let result = try await other.resumeUpload(token).value
                #expect(served.bytes(of: "copy.bin") == Self.content)
                #expect(result.bytes == 1_000_000)
            }
        }
    }

    @Test func `every failure has its code, and a token or the reason why there is none`() async throws {
        let mine = try Folder()
        try mine.write([1, 2, 3], to: "file.bin")
        let missing = ScriptedServer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        let locked = ScriptedServer(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n"
        )
        let other = ScriptedServer("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 3\r\n\r\nabc")
        let session = mine.session { $0.maximumAttempts = 1 }
        func failure(
            _ url: String,
            to name: String = "copy.bin",
            _ change: (inout TransferRequest) -> Void = { _ in }
        ) async -> TransferError? {
            var request = TransferRequest(url)
            change(&request)
            do {
                _ = try await session.download(for: request, to: mine.file(name)).value
                return nil
            } catch let error as TransferError {
                return error
            } catch {
                Issue.record("\(error)")
                return nil
            }
        }
        var error = await failure("ftp://127.0.0.1/")
        #expect(error?.code == .invalidURL && error?.obstacle == .wrongInput && error?.token == nil)
        error = await failure(other.url) { $0.headers = [.range: "bytes=0-"] }
        #expect(error?.code == .invalidRequest && error?.message.contains("range") == true)
        error = await failure(other.url) { $0.headers[.cookie] = String(repeating: "secret", count: 2_000) }
        #expect(error?.code == .invalidRequest && error?.message.contains("secret") == false)
        error = await failure(other.url) { $0.credentials = .basic(name: "a:b", password: "secret") }
        #expect(error?.code == .invalidRequest && error?.message.contains("secret") == false)
        error = await failure(other.url) { request in
            for number in 0...64 { HTTPField.Name("X-\(number)").map { request.headers[$0] = "1" } }
        }
        #expect(error?.code == .invalidRequest && error?.message.hasPrefix("more than 64 headers") == true)
        error = await failure(other.url, to: "copy\0.bin")
        #expect(error?.code == .invalidFile && error?.message.contains("NUL") == true && mine.names == ["file.bin"])
        error = await failure(other.url, to: "none/copy.bin")
        #expect(error?.systemError == 2 && error?.obstacle == .wrongInput)
        error = await failure(missing.url)
        #expect(error?.code == .refused && error?.status == 404 && error?.obstacle == .finalFailure)
        error = await failure(locked.url)
        #expect(error?.code == .unauthorized && error?.status == 401 && error?.isResumable == true)
        error = await failure("http://127.0.0.1:1/")
        #expect(error?.code == .gaveUp && error?.token?.file == mine.file("copy.bin") && error?.obstacle == nil)
        error = await failure(other.url) { $0.sha256 = [UInt8](repeating: 0, count: 32) }
        #expect(error?.code == .digestMismatch && error?.obstacle == .finalFailure)
        error = await failure(other.url) { $0.requiresProof = true }
        #expect(error?.code == .unproved)
        #expect("\(String(describing: error))".contains("--") == false)
        let upload = await #expect(throws: TransferError.self) {
            try await session.upload(for: TransferRequest(other.url), from: mine.file("none")).value
        }
        #expect(upload?.obstacle == .wrongInput)
        for text in ["", "{}", "{\"direction\":\"sideways\",\"url\":\"\",\"file\":\"\"}"] {
            let error = #expect(throws: TransferError.self) { try ResumptionToken(text) }
            #expect(error?.code == .invalidToken)
        }
    }

    @Test func `credentials are in no text, and only the server that they are for gets them`() async throws {
        let mine = try Folder()
        let heads = Mutex<[String]>([])
        let target = ScriptedServer { _, head, socket in
            heads.withLock { $0.append(head) }
            try socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".utf8))
        }
        let start = ScriptedServer { _, head, socket in
            heads.withLock { $0.append(head) }
            try socket.send(Array("HTTP/1.1 302 Found\r\nLocation: \(target.url)/\r\nContent-Length: 0\r\n\r\n".utf8))
        }
        var request = TransferRequest(start.url)
        request.credentials = .bearer("secret-token")
        request.headers[try #require(HTTPField.Name("X-Key"))] = "secret-key"
        #expect(!String(describing: request.credentials).contains("secret"))
        #expect(!String(reflecting: request.credentials).contains("secret"))
        let result = try await mine.session().download(for: request, to: mine.file("copy.bin")).value
        #expect(result.url == target.url + "/")
        let seen = heads.withLock { $0 }
        #expect(seen.count == 2)
        #expect(seen.first?.contains("Bearer secret-token") == true && seen.first?.contains("secret-key") == true)
        #expect(seen.last?.contains("secret") == false)
        request.url = "http://127.0.0.1:1/"
        let failing = request
        let error = await #expect(throws: TransferError.self) {
            try await mine.session { $0.maximumAttempts = 1 }.download(for: failing, to: mine.file("other.bin")).value
        }
        let token = try #require(error?.token)
        #expect(!token.text.contains("secret"))
        #expect(!"\(String(reflecting: error))".contains("secret"))
    }

    @Test func `an authority that is named is trusted, and no other server`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        let authority = try DevelopmentCA()
        let tls = try TLSServer(TLSIdentity(authority.identity(for: ["127.0.0.1"])))
        try await withOrigin(served, tls: tls) { url, _, _ in
            let request = TransferRequest(url + "/file.bin")
            let error = await #expect(throws: TransferError.self) {
                try await mine.session().download(for: request, to: mine.file("copy.bin")).value
            }
            #expect(error?.code == .tlsRefused && error?.obstacle == .finalFailure)
            let trusting = try TransferTLS(authorities: authority.certificate)
            let result = try await mine.session { $0.tls = trusting }
                .download(for: request, to: mine.file("copy.bin")).value
            #expect(result.bytes == 1_000_000)
            let (data, response) = try await mine.session { $0.tls = trusting }.data(for: request)
            #expect(data == Self.content && response.status == 200)
        }
        let error = #expect(throws: TransferError.self) { try TransferTLS(authorities: "none") }
        #expect(error?.code == .invalidTLSSettings)
    }

    @Test func `an observer of a transfer replaces the session's`() async throws {
        let mine = try Folder()
        let server = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
        let reported = Mutex<[String]>([])
        let session = mine.session { $0.observer = { _ in reported.withLock { $0.append("session") } } }
        _ = try await session.download(for: TransferRequest(server.url), to: mine.file("a")).value
        #expect(Set(reported.withLock { $0 }) == ["session"])
        reported.withLock { $0 = [] }
        _ = try await session.download(for: TransferRequest(server.url), to: mine.file("b")) { _ in
            reported.withLock { $0.append("transfer") }
        }.value
        #expect(Set(reported.withLock { $0 }) == ["transfer"])
    }
}
