import SquallTransfer
import TestSockets
import TestStreams
import Testing

@Suite(.timeLimit(.minutes(5))) struct RateTests {
    @Test func `downloads, uploads and bodies are limited to the rate of the configuration`() async throws {
        let folder = try Folder()
        let content = testBytes(60_000)
        try folder.write(content, to: "file.bin")
        var configuration = TransferConfiguration()
        configuration.maximumRate = 300_000
        configuration.stateFolder = folder.file("state")
        let session = TransferSession(configuration: configuration)
        let least = Duration.milliseconds(200)
        try await withOrigin(folder) { url, _, _ in
            let request = TransferRequest(url + "/file.bin")
            let download = try await session.download(for: request, to: folder.file("received.bin")).value
            #expect(download.duration >= least)
            let target = TransferRequest(url + "/uploaded.bin")
            let upload = try await session.upload(for: target, from: folder.file("file.bin")).value
            #expect(upload.duration >= least)
            let clock = ContinuousClock()
            let start = clock.now
            #expect(try await session.data(for: request).data == content)
            #expect(clock.now - start >= least)
        }
    }

    @Test(arguments: [-1, 0, .max] as [Int64])
    func `a rate that makes no sense is the nearest that does`(rate: Int64) async throws {
        var configuration = TransferConfiguration()
        configuration.maximumRate = rate
        let session = TransferSession(configuration: configuration)
        let server = ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(try await session.data(for: TransferRequest(server.url + "/x")).data.isEmpty)
    }
}
