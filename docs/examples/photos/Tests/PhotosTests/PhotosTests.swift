import Foundation
import Hummingbird
import Photos
import SquallTransfer
import Testing

@Suite(.timeLimit(.minutes(2))) struct PhotosTests {
    /// Runs `body` against a server over a new folder; it is given the server's URL and a folder of its own.
    private func withServer(_ body: @Sendable @escaping (String, URL) async throws -> Void) async throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "photos-\(UUID().uuidString)")
        let taken = base.appending(path: "taken")
        try FileManager.default.createDirectory(at: taken, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: base) }
        let (ports, told) = AsyncStream<Int>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await photos(in: taken, port: 0) { told.yield($0) }.run() }
            for await port in ports {
                try await body("http://127.0.0.1:\(port)", base)
                break
            }
            group.cancelAll()
        }
    }

    @Test func `a photo whose upload is interrupted again and again arrives complete`() async throws {
        try await withServer { url, folder in
            let photo = Data((0..<32_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 13) })
            let file = folder.appending(path: "photo.jpg")
            try photo.write(to: file)
            var configuration = TransferConfiguration()
            configuration.stateFolder = folder.appending(path: "state").path()
            configuration.progressInterval = .zero
            let session = TransferSession(configuration: configuration)
            var transfer = session.upload(for: TransferRequest("\(url)/photos/photo.jpg"), from: file.path())
            var pauses = 0
            while pauses < 3 {
                for try await status in transfer where status.sentBytes > 2_000_000 { break }
                guard let token = await transfer.pause() else { break }
                pauses += 1
                transfer = try session.resumeUpload(token)
            }
            #expect(pauses == 3)
            let result = try await transfer.value
            #expect(result.resumptions > 0)
            #expect(try Data(contentsOf: folder.appending(path: "taken/photo.jpg")) == photo)
        }
    }

    @Test func `other requests go to the routes as usual`() async throws {
        try await withServer { url, folder in
            try Data("hello".utf8).write(to: folder.appending(path: "taken/a.txt"))
            let (data, response) = try await TransferSession.shared.data(for: TransferRequest("\(url)/photos/a.txt"))
            #expect(response.status == 200)
            #expect(data == Array("hello".utf8))
            let (_, missing) = try await TransferSession.shared.data(for: TransferRequest("\(url)/none"))
            #expect(missing.status == 404)
        }
    }
}
