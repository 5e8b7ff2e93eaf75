import SquallTransfer
import Synchronization
import TestSockets
import TestStreams
import Testing

/// Whether a transfer says that it can be resumed where it is, and why not.
@Suite(.timeLimit(.minutes(2))) struct ResumabilityTests {
    private let folder: Folder
    private let session: TransferSession

    init() throws {
        let folder = try Folder()
        self.folder = folder
        var configuration = TransferConfiguration()
        configuration.stateFolder = folder.file("state")
        configuration.maximumAttempts = 1
        configuration.maximumBackoff = .zero
        session = TransferSession(configuration: configuration)
    }

    private static let old = "Date: Thu, 26 Nov 2026 20:00:00 GMT\r\nLast-Modified: Thu, 26 Nov 2026 19:00:00 GMT"

    @Test(arguments: [
        ("ETag: \"1\"", Resumability.continues), (old, .continues), ("X: y", .continues),
        ("ETag: \"1\"\r\nAccept-Ranges: none", .startsOver(.noRanges)),
    ])
    func `a download says whether it would continue, while it runs and when it fails`(
        fields: String,
        expected: Resumability
    ) async throws {
        let server = ScriptedServer { number, _, socket in
            guard number == 0 else { return }
            try socket.send(Array("HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: 9\r\n\r\nabc".utf8))
        }
        let seen = Mutex<[Resumability]>([])
        let transfer = session.download(for: TransferRequest(server.url), to: folder.file("copy")) { status in
            seen.withLock { $0.append(status.resumability) }
        }
        let error = await #expect(throws: TransferError.self) { try await transfer.value }
        #expect(error?.token != nil && error?.resumability == expected)
        let told = seen.withLock { $0 }
        #expect(told.first == .unknown && told.last == expected, "\(told)")
    }

    @Test func `a download from a server that ignores ranges says that it starts over`() async throws {
        let server = ScriptedServer("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 9\r\n\r\nabc")
        var configuration = session.configuration
        // One for the range with its condition, one for it without.
        configuration.maximumAttempts = 3
        let patient = TransferSession(configuration: configuration)
        let error = await #expect(throws: TransferError.self) {
            try await patient.download(for: TransferRequest(server.url), to: folder.file("copy")).value
        }
        #expect(error?.token != nil && error?.resumability == .startsOver(.noRanges), "\(String(describing: error))")
    }

    @Test func `a download that can't be resumed says why`() async throws {
        let coded = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\na")
        var error = await #expect(throws: TransferError.self) {
            try await session.download(for: TransferRequest(coded.url), to: folder.file("copy")).value
        }
        #expect(error?.resumability == .impossible(.contentCoded))
        let absent = ScriptedServer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        error = await #expect(throws: TransferError.self) {
            try await session.download(for: TransferRequest(absent.url), to: folder.file("copy")).value
        }
        #expect(error?.resumability == .impossible(.finalFailure))
        error = await #expect(throws: TransferError.self) {
            try await session.data(for: TransferRequest("http://127.0.0.1:1/"))
        }
        #expect(error?.resumability == .impossible(.nothingKept))
        error = await #expect(throws: TransferError.self) {
            try await session.download(for: TransferRequest("ftp://x"), to: folder.file("copy")).value
        }
        #expect(error?.resumability == .impossible(.wrongInput))
    }

    @Test(arguments: [("PUT", Resumability.startsOver(.noUploadResource)), ("POST", .impossible(.notRepeatable))])
    func `an upload to a server without resumable uploads starts over, if it may be repeated`(
        method: String,
        expected: Resumability
    ) async throws {
        // Takes some of the content, and closes.
        let server = ScriptedServer { _, _, socket in _ = try socket.receive(exactly: 10) }
        let transfer = {
            var request = TransferRequest(server.url)
            request.method = HTTPRequest.Method(rawValue: method)
            return session.upload(for: request, from: [UInt8](repeating: 1, count: 100_000))
        }()
        let error = await #expect(throws: TransferError.self) { try await transfer.value }
        #expect(error?.resumability == expected)
    }

    @Test func `an upload that the server has named continues`() async throws {
        let server = ScriptedServer { _, _, socket in
            let notice = "HTTP/1.1 104 Upload Resumption\r\nUpload-Draft-Interop-Version: 10\r\nLocation: /u/1\r\n\r\n"
            try socket.send(Array(notice.utf8))
            _ = try socket.receive(exactly: 10)
        }
        let transfer = session.upload(for: TransferRequest(server.url), from: [UInt8](repeating: 1, count: 100_000))
        let error = await #expect(throws: TransferError.self) { try await transfer.value }
        #expect(error?.resumability == .continues && error?.token != nil)
    }
}
