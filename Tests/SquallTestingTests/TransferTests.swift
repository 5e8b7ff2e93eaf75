import OriginServer
import SquallTesting
import SquallTransfer
import TestStreams
import Testing

/// SquallTransfer, tested in ten lines.
@Suite(.timeLimit(.minutes(2))) struct TransferTests {
    @Test(.network(.faults([.cut(every: 30_000).on(.downstream)]), seeds: 1...3))
    func `a download survives a cut every 30,000 bytes`() async throws {
        let folder = try Folder()
        try folder.write(content, to: "file.bin")
        let origin = try await OriginServer.start(OriginConfiguration(folder: folder.path))

        let network = try await TestNetwork.connect(to: "\(origin.address.host):\(origin.address.port)")
        let request = TransferRequest(network.url("/file.bin"))
        let result = try await TransferSession().download(for: request, to: folder.file("copy.bin")).value
        #expect(result.isVerified && result.resumptions >= 3)
        #expect(folder.bytes(of: "copy.bin") == content)
        #expect(await network.faults.count >= 3)
        await origin.shutdown()
    }
}
