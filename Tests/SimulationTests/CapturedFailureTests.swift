import EventLoop
import FaultProfile
import Foundation
import Glibc
import Testing
import Units

@testable import ProxyEngine
@testable import SimulatedWorld

/// What a capture says of a client whose connection fails, in virtual time.
@Suite struct CapturedFailureTests {
    /// The packets that a client has sent: their flags of TCP.
    private static func flagsOfClient(_ file: [UInt8]) -> [UInt8] {
        var flags: [UInt8] = []
        var place = 0
        while place + 12 <= file.count {
            let size = Int(file[place + 4]) | Int(file[place + 5]) << 8 | Int(file[place + 6]) << 16
            // An enhanced packet block of the interface of clients, whose last option is that of the direction.
            if file[place] == 6, file[place + 8] == 0, file[place + size - 12] == 1 {
                flags.append(file[place + 28 + 20 + 13])
            }
            place += size
        }
        return flags
    }

    /// Goes on for `time`.
    private func run(_ network: SimulatedNetwork, _ loop: EventLoop, for time: Duration) {
        let end = network.moment + time
        while network.moment < end {
            if network.agenda.next <= network.moment {
                network.performNext()
            } else if loop.hasWork || network.hasPending(0) || loop.ring <= network.moment {
                network.advance(by: 1_000)
                loop.turn(rings: loop.ring <= network.moment) { network.callBack(0) }
            } else {
                network.advance(to: min(end, network.agenda.next, loop.ring))
            }
        }
    }

    @Test(arguments: [(ETIMEDOUT, false), (EHOSTUNREACH, false), (ECONNRESET, true)])
    func `only a client that resets has sent a reset`(code: Int32, resets: Bool) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("squall-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let network = SimulatedNetwork(seed: 1, disturbances: Disturbances(), loops: 1)
        let loop = try EventLoop(index: 0, on: network)
        var configuration = ProxyConfiguration(
            name: "test",
            listen: Endpoint(host: "127.0.0.1", port: 4_000),
            upstream: Endpoint(host: "127.0.0.1", port: 5_000),
            profile: Profile(name: "test"),
            seed: 7
        )
        configuration.registry = ProxyRegistry()
        configuration.clockStart = network.moment
        let capture = try Capture(.init(path: path), whenFailing: { _ in })
        capture.begin()
        configuration.capture = capture
        let proxy = try Proxy.startSimulated(
            configuration,
            on: [loop],
            listen: try #require(SocketAddress(numericHost: "127.0.0.1", port: 4_000)),
            upstream: [try #require(SocketAddress(numericHost: "127.0.0.1", port: 5_000))],
            journal: { _ in },
            report: { _ in }
        )
        var server: SimulatedSocket?
        network.serve = { server = $0 }
        let client = try #require(network.connectClient(to: 4_000))
        run(network, loop, for: .milliseconds(10))
        // What the proxy sends afterwards meets the end of the connection again.
        network.die(try #require(client.peer), code)
        if let server { _ = [1, 2].withUnsafeBytes { network.sendNow(server, $0, isProxy: false) } }
        run(network, loop, for: .seconds(1))
        proxy.stopSimulated()
        run(network, loop, for: .seconds(1))
        _ = loop.endSimulation()
        network.forgetAll()
        #expect(capture.finish().failure == nil)
        let flags = CapturedFailureTests.flagsOfClient([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
        #expect(flags.first == 2 && flags.contains { $0 & 4 != 0 } == resets, "\(flags)")
    }
}
