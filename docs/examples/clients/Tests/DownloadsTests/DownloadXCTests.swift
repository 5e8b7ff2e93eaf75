import Downloads
import Foundation
import SquallTesting
import XCTest

/// The same with XCTest.
final class DownloadXCTests: XCTestCase {
    func testDownloadSurvivesFirstTwoCuts() async throws {
        let file = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        let server = FileServer(file)
        let faults = NetworkProfile.faults([.cut(at: 1_000).on(.downstream).connections(1...2)])
        try await withNetwork(faults, to: server.address, seed: 7) { network in
            let url = try XCTUnwrap(URL(string: network.url("/file")))
            let copy = try await download(url)
            XCTAssertEqual(copy, file, "\(network)")
        }
    }
}
