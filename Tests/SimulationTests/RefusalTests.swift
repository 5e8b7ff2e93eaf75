import EventLoop
import FaultProfile
import Testing
import Units

@testable import ProxyEngine
@testable import SimulatedWorld

/// A cut that a refusal of new clients comes after, where the listener has another loop than the connection.
@Suite struct RefusalTests {
    /// A proxy in virtual time, with a connection on the loop that isn't the listener's.
    private final class Scene {
        /// The loops by what is on them.
        static let (listeners, connections) = (0, 1)

        let network = SimulatedNetwork(seed: 1, disturbances: Disturbances(), loops: 2)
        let proxy: Proxy
        private let loops: [EventLoop]
        private var servers: [SimulatedSocket] = []
        let client: SimulatedSocket

        /// - Parameter how: how the proxy cuts the connection after 2 bytes of the server.
        init(cuts how: Cut.Ending) throws {
            let crash = Fault(
                name: "crash",
                stream: .downstream,
                kind: .cut(Cut(position: .at(ByteCount(2)), how: how))
            )
            let gone = Fault(name: "gone", condition: Condition(after: "crash"), kind: .outage(Outage(how: .refuse)))
            var configuration = ProxyConfiguration(
                name: "test",
                listen: Endpoint(host: "127.0.0.1", port: 4_000),
                upstream: Endpoint(host: "127.0.0.1", port: 5_000),
                profile: Profile(name: "test", faults: [crash, gone]),
                seed: 7
            )
            configuration.registry = ProxyRegistry()
            configuration.clockStart = network.moment
            loops = try (0..<2).map { [network] in try EventLoop(index: $0, on: network) }
            proxy = try Proxy.startSimulated(
                configuration,
                on: loops,
                listen: try #require(SocketAddress(numericHost: "127.0.0.1", port: 4_000)),
                upstream: [try #require(SocketAddress(numericHost: "127.0.0.1", port: 5_000))],
                journal: { _ in },
                report: { _ in }
            )
            // The loops take turns, and the listener's is the first.
            _ = try #require(network.connectClient(to: 4_000))
            client = try #require(network.connectClient(to: 4_000))
            network.serve = { [unowned self] in servers.append($0) }
            run([Scene.listeners, Scene.connections], for: .milliseconds(10))
            try #require(servers.count == 2)
        }

        /// Both connections get the bytes in front of the cut.
        func sendUpToTheCut() {
            for server in servers {
                _ = [UInt8](repeating: 1, count: 2).withUnsafeBytes { network.sendNow(server, $0, isProxy: false) }
            }
        }

        /// The loops of `running` go on for `time`; others stand still.
        func run(_ running: [Int], for time: Duration) {
            let end = network.moment + time
            while network.moment < end {
                func rings(_ loop: Int) -> Bool { loops[loop].ring <= network.moment }
                if network.agenda.next <= network.moment {
                    network.performNext()
                } else if let loop = running.first(where: { loops[$0].hasWork || network.hasPending($0) || rings($0) })
                {
                    network.advance(by: 1_000)
                    loops[loop].turn(rings: rings(loop)) { network.callBack(loop) }
                } else {
                    network.advance(to: running.reduce(min(end, network.agenda.next)) { min($0, loops[$1].ring) })
                }
            }
        }

        /// Whether a client can connect.
        var isListening: Bool { network.listeners[4_000]?.listening == .accepting }

        /// How the client's stream has ended; `nil` while it goes on.
        var ending: Cut.Ending? {
            if case .dead = client.state { return .reset }
            return client.hasPeerEnded ? .close : nil
        }

        /// Leaves the port, as for another proxy.
        func leavePort() { proxy.listener.value.leavePort() }

        func end() {
            proxy.stopSimulated()
            run([Scene.listeners, Scene.connections], for: .seconds(1))
            #expect(network.violations.isEmpty)
            for loop in loops { _ = loop.endSimulation() }
            network.forgetAll()
        }
    }

    @Test(arguments: [Cut.Ending.reset, .close])
    func `the cut waits until nobody listens`(how: Cut.Ending) throws {
        let scene = try Scene(cuts: how)
        scene.sendUpToTheCut()
        scene.run([Scene.connections], for: .milliseconds(90))
        #expect(scene.client.inbox.count == 2)
        #expect(scene.isListening && scene.ending == nil, "cut while others are let in")
        scene.run([Scene.listeners], for: .milliseconds(1))
        #expect(!scene.isListening && scene.ending == nil)
        scene.run([Scene.connections], for: .milliseconds(2))
        #expect(scene.ending == how)
        scene.end()
    }

    @Test(arguments: [Cut.Ending.reset, .close])
    func `the cut waits 100 ms for a listener whose loop stands still`(how: Cut.Ending) throws {
        let scene = try Scene(cuts: how)
        scene.sendUpToTheCut()
        scene.run([Scene.connections], for: .milliseconds(110))
        #expect(scene.isListening && scene.ending == how)
        scene.end()
    }

    @Test(arguments: [Cut.Ending.reset, .close])
    func `the cut acts when the proxy stops before it`(how: Cut.Ending) throws {
        let scene = try Scene(cuts: how)
        scene.sendUpToTheCut()
        scene.run([Scene.connections], for: .milliseconds(90))
        #expect(scene.ending == nil)
        scene.proxy.stopSimulated()
        scene.run([Scene.connections], for: .milliseconds(2))
        #expect(scene.ending == how)
        scene.end()
    }

    @Test(arguments: [false, true])
    func `the cut waits for nobody while the port is left`(isWaiting: Bool) throws {
        let scene = try Scene(cuts: .reset)
        if isWaiting {
            scene.sendUpToTheCut()
            scene.run([Scene.connections], for: .milliseconds(50))
            #expect(scene.ending == nil)
        }
        scene.leavePort()
        if !isWaiting { scene.sendUpToTheCut() }
        scene.run([Scene.connections], for: .milliseconds(2))
        #expect(scene.ending == .reset)
        scene.end()
    }
}
