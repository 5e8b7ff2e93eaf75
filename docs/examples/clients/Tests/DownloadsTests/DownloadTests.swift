import Downloads
import Foundation
import SquallTesting
import Testing

private let file = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) })
private let server = FileServer(file)

@Suite(.timeLimit(.minutes(2))) struct DownloadTests {
    @Test(
        .network(
            .faults([.cut(at: 20_000).on(.downstream).chance(percent: 60)]),
            upstream: server.address,
            seeds: 1...3
        )
    )
    func `a download survives connections that break`() async throws {
        let network = try TestNetwork.current
        let url = try #require(URL(string: network.url("/file")))
        #expect(try await download(url, attempts: 30) == file)
        #expect(await network.faults.allSatisfy { $0.effect == .resets })
    }

    @Test(.network(.profile("first-two-fail"), upstream: server.address))
    func `a download goes on when the network gets slow`() async throws {
        let network = try TestNetwork.current
        let url = try #require(URL(string: network.url("/file")))
        async let copy = download(url)
        try await network.apply(.faults([.latency(.milliseconds(20)), .bandwidth(bytesPerSecond: 2_000_000)]))
        #expect(try await copy == file)
    }

    @Test(.network(.faults([.cut(at: 100)]), upstream: server.address))
    func `a download gives up after 3 failures in a row`() async throws {
        let network = try TestNetwork.current
        let url = try #require(URL(string: network.url("/file")))
        await #expect(throws: URLError.self) { try await download(url) }
        #expect(await network.faults.count == 3)
    }
}
