import Foundation
import SquallTesting
import TestSockets

/// The command that was built with these tests.
let builtSquall = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("squall").path

/// 100,000 bytes without a period.
let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }

/// A server of the process that sends `content` to each client.
let server = ByteServer(content)

/// What bash opens to connect to `server`.
let device = "/dev/tcp/\(server.address.replacing(":", with: "/"))"

/// What a client of the network receives, and how it ended.
func received(from network: TestNetwork) -> (bytes: [UInt8], ending: StreamEnding)? {
    TestSockets.received(from: network.host, network.port)
}
