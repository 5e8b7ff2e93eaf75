import EventLoop
import FaultProfile
import OperatingSystem
import ProxyEngine
import Synchronization
import TestSockets
import Testing
import Units

/// Clients of this process, whose sockets are connected once their targets are.
@Suite(.timeLimit(.minutes(2))) struct LocalClientTests {
    /// The outcome of a client whose socket is as far as `handOver` has it, by the number of the question from 1.
    private func outcome(
        connectTimeout: Duration? = nil,
        _ handOver: @escaping @Sendable (Int) -> LocalClient.HandOver
    ) async throws -> LocalClient.Outcome {
        let server = TestServer.echo()
        defer { server.stop() }
        let policy = ForwardPolicy(allowsLocalTargets: true)
        return try await withProxy(to: server.address, connectTimeout: connectTimeout, policy: policy) { fixture in
            let outcomes = Slot<LocalClient.Outcome>()
            let count = Atomic(0)
            let client = LocalClient(
                at: server.address,
                to: server.address,
                connect: { handOver(count.add(1, ordering: .relaxed).newValue) },
                withdraw: {},
                ended: { outcomes.put($0) }
            )
            _ = fixture.proxy.admissionLoop.post { fixture.proxy.admit(client) }
            return try await blocking { try outcomes.next() }
        }
    }

    @Test func `without a descriptor for its socket a client fails with EMFILE`() async throws {
        let error = SystemError(call: "socket", code: SystemError.outOfDescriptors)
        #expect(try await outcome { _ in .failed(error) } == .failed(SystemError.outOfDescriptors))
    }

    @Test func `a client whose socket connects slowly is asked again`() async throws {
        #expect(try await outcome { $0 < 5 ? .connecting : .connected(.none) } == .connected)
        #expect(try await outcome { $0 < 5 ? .connecting : .gone } == .ended(reset: true))
    }

    @Test func `a client whose socket never connects fails with ETIMEDOUT`() async throws {
        let outcome = try await outcome(connectTimeout: .milliseconds(1)) { _ in .connecting }
        #expect(outcome == .failed(SystemError.timedOut))
    }

    @Test func `a client that is asked again is asked after a change of the profile as well`() async throws {
        let asked = Slot<Void>()
        let isConnected = Atomic(false)
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, policy: ForwardPolicy(allowsLocalTargets: true)) { fixture in
            let outcomes = Slot<LocalClient.Outcome>()
            let client = LocalClient(
                at: server.address,
                to: server.address,
                connect: {
                    asked.put(())
                    return isConnected.load(ordering: .relaxed) ? .connected(.none) : .connecting
                },
                withdraw: {},
                ended: { outcomes.put($0) }
            )
            _ = fixture.proxy.admissionLoop.post { fixture.proxy.admit(client) }
            try await blocking { try asked.next() }
            let cut = Cut(position: .after(.seconds(3_600)), how: .reset)
            try await fixture.proxy.apply(Profile([.cut(cut)], on: .upstream))
            isConnected.store(true, ordering: .relaxed)
            #expect(try await blocking { try outcomes.next() } == .connected)
        }
    }

    @Test func `a client whose connection falls silent while it is asked has no socket of the proxy`() async throws {
        let withdrawn = Slot<Void>()
        let server = TestServer.echo()
        defer { server.stop() }
        let cut = Profile([.cut(Cut(position: .after(.milliseconds(5)), how: .silence))], on: .upstream)
        try await withProxy(to: server.address, cut, policy: ForwardPolicy(allowsLocalTargets: true)) { fixture in
            let client = LocalClient(
                at: server.address,
                to: server.address,
                connect: { .connecting },
                withdraw: { withdrawn.put(()) },
                ended: { _ in }
            )
            _ = fixture.proxy.admissionLoop.post { fixture.proxy.admit(client) }
            try await blocking { try withdrawn.next() }
        }
    }
}
