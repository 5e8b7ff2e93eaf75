import Foundation
import SquallTransfer
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// Sessions that keep no state after a transfer.
@Suite(.timeLimit(.minutes(5))) struct EphemeralTests {
    private static let content = testBytes(1_000_000)
    private static let cut = FaultKind.cut(Cut(position: .every(ByteCount(150_000)), how: .reset))

    private func session(_ folder: Folder) -> TransferSession {
        var configuration = TransferConfiguration.ephemeral
        configuration.stateFolder = folder.file("state")
        configuration.progressInterval = .zero
        return TransferSession(configuration: configuration)
    }

    private func names(_ folder: Folder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `transfers survive cuts`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try await withOrigin(served) { _, host, port in
            let faults = [Self.cut]
            try await withFaults(faults, on: .upstream, before: host, port) { url in
                try mine.write(Self.content, to: "file.bin")
                let session = session(mine)
                let file = try await session.upload(for: TransferRequest(url + "/a"), from: mine.file("file.bin")).value
                let memory = try await session.upload(for: TransferRequest(url + "/b"), from: Self.content).value
                let stream = AsyncStream<[UInt8]> { continuation in
                    continuation.yield(Self.content)
                    continuation.finish()
                }
                let streamed = try await session.upload(for: TransferRequest(url + "/c"), from: stream).value
                for (name, result) in [("a", file), ("b", memory), ("c", streamed)] {
                    #expect(result.resumptions >= 3)
                    #expect(served.bytes(of: name) == Self.content)
                }
                #expect(try names(mine) == ["file.bin"])
            }
            try await withFaults(faults, on: .downstream, before: host, port) { url in
                let result = try await session(mine).download(for: TransferRequest(url + "/a"), to: mine.file("copy"))
                    .value
                #expect(result.resumptions >= 3)
                #expect(mine.bytes(of: "copy") == Self.content)
                #expect(try names(mine) == ["copy", "file.bin"])
            }
        }
    }

    @Test func `a paused download leaves nothing, and no token`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "file.bin")
        try await withOrigin(served) { _, host, port in
            let stall = FaultKind.stall(Stall(at: ByteCount(400_000), duration: .seconds(600)))
            try await withFaults([stall], on: .downstream, before: host, port) { url in
                let transfer = session(mine).download(
                    for: TransferRequest(url + "/file.bin"),
                    to: mine.file("copy.bin")
                )
                for try await status in transfer where status.completedBytes >= 300_000 { break }
                #expect(try names(mine).contains(".copy.bin.squall-part"))
                #expect(await transfer.pause() == nil)
                #expect(try names(mine).isEmpty)
                let error = await #expect(throws: TransferError.self) { try await transfer.value }
                #expect(error?.code == .cancelled && error?.token == nil && error?.obstacle == .nothingKept)
            }
        }
    }

    @Test func `a cancelled upload leaves nothing, and no token`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try await withOrigin(served) { _, host, port in
            let stall = FaultKind.stall(Stall(at: ByteCount(400_000), duration: .seconds(600)))
            try await withFaults([stall], on: .upstream, before: host, port) { url in
                let transfer = session(mine).upload(for: TransferRequest(url + "/copy.bin"), from: Self.content)
                for try await status in transfer where status.sentBytes > 200_000 { break }
                #expect(try names(mine).isEmpty)
                #expect(await transfer.pause() == nil)
                #expect(try names(mine).isEmpty)
                let error = await #expect(throws: TransferError.self) { try await transfer.value }
                #expect(error?.code == .cancelled && error?.token == nil && error?.obstacle == .nothingKept)
            }
        }
    }

    @Test func `a transfer that gives up leaves nothing, and no token`() async throws {
        let mine = try Folder()
        let server = ScriptedServer { number, _, socket in
            guard number == 0 else { return }
            try socket.send(
                Array("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 100000\r\n\r\n".utf8)
                    + [UInt8](repeating: 1, count: 70_000)
            )
        }
        let locked = ScriptedServer(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n"
        )
        var configuration = TransferConfiguration.ephemeral
        configuration.maximumAttempts = 1
        let session = TransferSession(configuration: configuration)
        func failure(_ url: String) async -> TransferError? {
            await #expect(throws: TransferError.self) {
                try await session.download(for: TransferRequest(url), to: mine.file("copy.bin")).value
            }
        }
        let gaveUp = await failure(server.url)
        #expect(gaveUp?.code == .gaveUp && gaveUp?.token == nil && gaveUp?.obstacle == .nothingKept)
        var later = TransferRequest(server.url)
        later.delay = .seconds(600)
        let delayed = session.download(for: later, to: mine.file("copy.bin"))
        #expect(await delayed.pause() == nil)
        let refused = await failure(locked.url)
        #expect(refused?.code == .unauthorized && refused?.token == nil && refused?.obstacle == .finalFailure)
        #expect(try names(mine).isEmpty)
    }
}
