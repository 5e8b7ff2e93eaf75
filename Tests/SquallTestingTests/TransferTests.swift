import Foundation
import OriginServer
import SquallTesting
import SquallTransfer
import Testing

/// SquallTransfer, tested in ten lines.
@Suite(.timeLimit(.minutes(2))) struct TransferTests {
    @Test(.network(.faults([.cut(every: 30_000).on(.downstream)]), seeds: 1...3))
    func `a download survives a cut every 30,000 bytes`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("squall-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(content).write(to: folder.appendingPathComponent("file.bin"))
        let origin = try await OriginServer.start(OriginConfiguration(folder: folder.path))

        let network = try await TestNetwork.connect(to: "\(origin.address.host):\(origin.address.port)")
        let file = folder.appendingPathComponent("copy.bin")
        let request = TransferRequest(network.url("/file.bin"))
        let result = try await TransferSession().download(for: request, to: file.path).value
        #expect(result.isVerified && result.resumptions >= 3)
        #expect(try [UInt8](Data(contentsOf: file)) == content)
        #expect(await network.faults.count >= 3)
        await origin.shutdown()
    }
}
