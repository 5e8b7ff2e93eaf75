import Dispatch
import SquallTransfer
import Synchronization
import TestSockets
import TestStreams
import Testing

@Suite(.timeLimit(.minutes(5))) struct DataTests {
    private let session = TransferSession()

    @Test func `a response is brought whatever its status, with its fields and its body`() async throws {
        let server = ScriptedServer("HTTP/1.1 404 Not Found\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 4\r\n\r\ngone")
        let (data, response) = try await session.data(for: TransferRequest(server.url + "/x?y=1"))
        #expect(data == Array("gone".utf8))
        #expect(response.status == 404)
        #expect(response["X-A"] == "1, 2")
        #expect(response["X-B"] == nil)
        #expect(response.url == server.url + "/x?y=1")
    }

    @Test func `interim responses of data and bytes are reported, in order`() async throws {
        let server = ScriptedServer(
            "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        )
        let seen = Mutex<[InterimResponse]>([])
        let link = try #require(HTTPField.Name("Link"))
        var request = TransferRequest(server.url)
        request.onInterimResponse = { response in seen.withLock { $0.append(response) } }
        #expect(try await session.data(for: request).data == Array("ok".utf8))
        let (body, response) = try await session.bytes(for: request)
        for try await _ in body {}
        #expect(response.status == 200)
        let told = seen.withLock { $0 }
        #expect(told.map(\.status) == [102, 103, 102, 103])
        #expect(told.last?.headers[values: link] == ["</a>"])
    }

    @Test func `the deadline ends a request whose authenticator doesn't return`() async throws {
        let server = ScriptedServer(
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n"
        )
        var configuration = TransferConfiguration()
        configuration.deadline = .milliseconds(200)
        var request = TransferRequest(server.url)
        request.authenticator = { _ in
            // Never ends, whatever happens to the task.
            let (gate, opened) = AsyncStream<Void>.makeStream()
            await Task.detached { for await _ in gate {} }.value
            opened.finish()
            return nil
        }
        let hasty = TransferSession(configuration: configuration)
        let error = await #expect(throws: TransferError.self) { try await hasty.data(for: request) }
        #expect(error?.code == .connectionFailed)
    }

    @Test func `a body is sent with the method and the media type`() async throws {
        let server = ScriptedServer { _, head, socket in
            let body = try socket.receive(exactly: 5)
            let isRight =
                head.hasPrefix("POST /api HTTP/1.1\r\n") && head.contains("application/json")
                && body == Array("[1,2]".utf8)
            try socket.send(Array("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n\(isRight ? "ok" : "no")".utf8))
        }
        var request = TransferRequest(server.url + "/api")
        request.method = .post
        request.contentType = "application/json"
        let (data, response) = try await session.data(for: request, body: Array("[1,2]".utf8))
        #expect(data == Array("ok".utf8))
        #expect(response.status == 201)
    }

    @Test(arguments: [
        (303, "POST", "GET"), (301, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"), (301, "PUT", "PUT"),
        (303, "PUT", "GET"),
    ])
    func `a redirection is followed with the method that its status requires`(
        status: Int,
        first: String,
        method: String
    ) async throws {
        let heads = Mutex<[String]>([])
        let server = ScriptedServer { number, head, socket in
            heads.withLock { $0.append(head) }
            if !head.hasPrefix("GET") { _ = try socket.receive(exactly: 3) }
            let response =
                number == 0
                ? "HTTP/1.1 \(status) Elsewhere\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
                : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            try socket.send(Array(response.utf8))
        }
        var request = TransferRequest(server.url + "/here")
        request.method = HTTPRequest.Method(rawValue: first)
        let (_, response) = try await session.data(for: request, body: [1, 2, 3])
        #expect(response.url == server.url + "/there")
        let last = heads.withLock { $0.last }
        #expect(last?.hasPrefix("\(method) /there ") == true)
        #expect(last?.lowercased().contains("content-length: 3") == (method != "GET"))
        #expect(last?.lowercased().contains("content-type") == (method != "GET"))
    }

    @Test func `what breaks off, is too long, or isn't there is an error that keeps nothing`() async throws {
        let short = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        let long = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd")
        let round = ScriptedServer("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
        var configuration = TransferConfiguration()
        configuration.maximumDataBytes = 3
        let small = TransferSession(configuration: configuration)
        var error = await #expect(throws: TransferError.self) { try await small.data(for: TransferRequest(short.url)) }
        #expect(error?.code == .connectionFailed && error?.obstacle == .nothingKept && error?.token == nil)
        error = await #expect(throws: TransferError.self) { try await small.data(for: TransferRequest(long.url)) }
        #expect(error?.code == .tooLong)
        error = await #expect(throws: TransferError.self) { try await small.data(for: TransferRequest(round.url)) }
        #expect(error?.code == .redirection)
        error = await #expect(throws: TransferError.self) {
            try await small.data(for: TransferRequest("http://127.0.0.1:1/"))
        }
        #expect(error?.code == .connectionFailed)
        var request = TransferRequest(long.url)
        request.contentType = "a\nb"
        error = await #expect(throws: TransferError.self) { try await small.data(for: request, body: [1]) }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `lines come as the server sends them`() async throws {
        let areRead = DispatchSemaphore(value: 0)
        let server = ScriptedServer { _, _, socket in
            try socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\none\ntwo\r\n\nf".utf8))
            areRead.wait()
            try socket.send(Array("ünf\nab".utf8))
        }
        let (bytes, response) = try await session.bytes(for: TransferRequest(server.url))
        #expect(response.status == 200)
        var lines: [String] = []
        for try await line in bytes.lines {
            lines.append(line)
            if lines.count == 3 { areRead.signal() }
        }
        #expect(lines == ["one", "two", "", "fünf", "ab"])
    }

    @Test func `a reader of a body goes on where the last one stopped`() async throws {
        let server = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\none\ntwo\r\nthree\nfour")
        let (bytes, _) = try await session.bytes(for: TransferRequest(server.url))
        var iterator = bytes.makeAsyncIterator()
        #expect(try await iterator.next() == UInt8(ascii: "o"))
        for expected in ["ne", "two"] {
            for try await line in bytes.lines {
                #expect(line == expected)
                break
            }
        }
        #expect(try await iterator.next() == UInt8(ascii: "t"))
        let folder = try Folder()
        #expect(try await bytes.save(to: folder.file("rest")) == 9)
        #expect(folder.bytes(of: "rest") == Array("hree\nfour".utf8))
        #expect(try await iterator.next() == nil)
    }

    @Test func `a second reader at the same time gets an error, and the first goes on`() async throws {
        let areRead = DispatchSemaphore(value: 0)
        let server = ScriptedServer { _, _, socket in
            try socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n".utf8))
            areRead.wait()
            try socket.send(Array("abc".utf8))
        }
        let (bytes, _) = try await session.bytes(for: TransferRequest(server.url))
        let chunks = await withTaskGroup(of: Result<[UInt8]?, any Error>.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var chunks = bytes.chunks
                    do { return .success(try await chunks.next()) } catch { return .failure(error) }
                }
            }
            var ends: [Result<[UInt8]?, any Error>] = []
            for await end in group {
                ends.append(end)
                areRead.signal()
            }
            return ends
        }
        let error = #expect(throws: TransferError.self) { try chunks.first?.get() }
        #expect(error?.code == .invalidRequest && error?.message.contains("two tasks read a body") == true)
        #expect(try chunks.last?.get() == Array("abc".utf8))
    }

    @Test func `a body isn't received faster than it is read, and only while it is read`() async throws {
        let sent = Mutex(0)
        let hasEnded = Mutex(false)
        let server = ScriptedServer { _, _, socket in
            defer { hasEnded.withLock { $0 = true } }
            try socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n".utf8))
            let part = [UInt8](repeating: 7, count: 100_000)
            for _ in 0..<10_000 {
                try socket.send(part)
                sent.withLock { $0 += part.count }
            }
        }
        func read() async throws {
            let (bytes, _) = try await session.bytes(for: TransferRequest(server.url))
            var count = 0
            for try await chunk in bytes.chunks {
                count += chunk.count
                if count > 1_000_000 { break }
            }
        }
        try await read()
        // The body is dropped, so the connection closes.
        #expect(await eventually { hasEnded.withLock { $0 } })
        #expect(sent.withLock { $0 } < 100_000_000)
    }

    @Test func `a truncated body is an error after the received bytes`() async throws {
        let server = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        let (bytes, _) = try await session.bytes(for: TransferRequest(server.url))
        var seen: [UInt8] = []
        let error = await #expect(throws: TransferError.self) {
            for try await byte in bytes { seen.append(byte) }
        }
        #expect(seen == Array("abc".utf8))
        #expect(error?.code == .connectionFailed)
    }
}
