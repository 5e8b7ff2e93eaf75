import EventLoop
import Testing

@testable import ControlAPI

/// Proxies that are removed while other requests change them.
@Suite(.timeLimit(.minutes(5))) struct ToxiproxyRemovalTests {
    @Test func `a removed proxy never starts again`() async throws {
        let loops = try EventLoopGroup(count: 1)
        let manager = ProxyManager(loops: loops, seed: 1, journal: JournalHub()) { _, _ in }
        var definition = manager.definition("a", upstream: "127.0.0.1:9")
        definition.state.listen = "127.0.0.1:0"
        let proxy = try await manager.create(definition)
        try await manager.remove("a")
        // A request that had found the proxy before.
        await #expect(throws: ControlError.self) { try await proxy.update(isEnabled: true) }
        await #expect(throws: ControlError.self) {
            try await proxy.changeFaults { state throws(ControlError) in state.toxics = [] }
        }
        #expect(proxy.state.running == nil)
        await loops.stop()
    }
}
