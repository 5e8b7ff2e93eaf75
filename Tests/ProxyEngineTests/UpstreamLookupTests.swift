import EventLoop
import FaultPlan
import FaultProfile
import Glibc
import OperatingSystem
import Synchronization
import TestSockets
import TestStreams
import Testing
import Units

@testable import ProxyEngine

/// The name of an upstream that gets other addresses while the proxy runs.
@Suite(.timeLimit(.minutes(5))) struct UpstreamLookupTests {
    private static let start = Moment(nanoseconds: 1_000_000_000_000)

    // MARK: The schedule

    /// What happens in a schedule.
    private enum Step {
        /// A reason to look up the name, some milliseconds after the start, and whether a lookup begins.
        case asks(LookupSchedule.Reason, Int64, Bool)
        case ends
    }

    private func check(_ steps: [Step]) {
        var schedule = LookupSchedule(lookedUpAt: Self.start)
        for (number, step) in steps.enumerated() {
            switch step {
            case .ends: schedule.end()
            case .asks(let reason, let milliseconds, let begins):
                let begun = schedule.begin(because: reason, at: Self.start + .milliseconds(milliseconds))
                #expect(begun == begins, "step \(number + 1)")
            }
        }
    }

    @Test func `a lookup for connections begins 30 s after the one before, and only one at a time`() {
        check([
            .asks(.connection, 29_999, false), .asks(.connection, 30_000, true), .asks(.connection, 90_000, false),
            .asks(.unreachable, 90_000, false), .ends, .asks(.connection, 90_000, true), .ends,
            .asks(.connection, 119_999, false),
        ])
    }

    @Test func `a lookup for an upstream that can't be reached begins at once, and then once in a second`() {
        check([
            .asks(.unreachable, 1, true), .ends, .asks(.unreachable, 1_000, false), .asks(.unreachable, 1_001, true),
            // It counts for connections as well.
            .ends, .asks(.connection, 31_000, false), .asks(.connection, 31_001, true),
        ])
    }

    // MARK: The addresses

    /// What a resolver says, call by call, and of which call nothing has been heard yet.
    private final class Answers: Sendable {
        private let answers: Mutex<[Result<[SocketAddress], SystemError>]>
        /// Holds a call until it is put something.
        let gate: Slot<Void>?
        let calls = Atomic<Int>(0)

        init(_ answers: [Result<[SocketAddress], SystemError>], gate: Slot<Void>? = nil) {
            self.answers = Mutex(answers)
            self.gate = gate
        }

        @Sendable func resolve(_ endpoint: Endpoint) async throws(SystemError) -> [SocketAddress] {
            calls.add(1, ordering: .sequentiallyConsistent)
            if let gate { try? await blocking { try gate.next() } }
            return try answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }.get()
        }
    }

    private static func address(_ text: String) throws -> SocketAddress {
        try #require(SocketAddress(numericHost: text, port: 80))
    }

    private func context(
        _ first: [SocketAddress],
        then answers: Answers,
        listen: [SocketAddress] = [loopback(port: 81)],
        report: @escaping @Sendable (ProxyEvent) -> Void = { _ in }
    ) throws -> ProxyContext {
        var configuration = ProxyConfiguration(
            name: "test",
            listen: Endpoint(host: "here.test", port: 81),
            upstream: Endpoint(host: "up.test", port: 80),
            profile: Profile(name: "plain"),
            seed: 1
        )
        configuration.registry = ProxyRegistry()
        configuration.resolve = answers.resolve
        return try ProxyContext(configuration, listen: listen, upstream: first, journal: { _ in }, report: report)
    }

    @Test func `connections go to the new addresses once they are found, and to the old ones until then`() async throws
    {
        let (old, new) = (try Self.address("192.0.2.1"), try Self.address("192.0.2.2"))
        let gate = Slot<Void>()
        let answers = Answers([.success([new, old])], gate: gate)
        let context = try context([old], then: answers)
        let due = MonotonicClock.now + .seconds(31)
        context.renewUpstream(because: .connection, at: due)
        #expect(await eventually { answers.calls.load(ordering: .sequentiallyConsistent) == 1 })
        // One at a time: these begin none.
        for _ in 0..<100 { context.renewUpstream(because: .connection, at: due + .seconds(60)) }
        #expect(context.upstreamAddresses == [old])
        gate.put(())
        #expect(await eventually { context.upstreamAddresses == [new, old] })
        #expect(answers.calls.load(ordering: .sequentiallyConsistent) == 1)
    }

    @Test func `a lookup that fails keeps the addresses, and the next may find others`() async throws {
        let (old, new) = (try Self.address("192.0.2.1"), try Self.address("192.0.2.2"))
        let answers = Answers([.failure(SystemError(call: "getaddrinfo", code: EIO)), .success([new])])
        let context = try context([old], then: answers)
        var moment = MonotonicClock.now
        let isNew = await eventually {
            // As soon as the lookup before has ended.
            moment = moment + .seconds(31)
            context.renewUpstream(because: .connection, at: moment)
            let calls = answers.calls.load(ordering: .sequentiallyConsistent)
            if calls < 2, context.upstreamAddresses != [old] { Issue.record("changed by a failure") }
            return context.upstreamAddresses == [new]
        }
        #expect(isNew)
    }

    @Test func `fewer addresses are repeated, so that each index stays one of an address`() async throws {
        let old = try (1...3).map { try Self.address("192.0.2.\($0)") }
        let new = try (4...5).map { try Self.address("192.0.2.\($0)") }
        let context = try context(old, then: Answers([.success(new)]))
        context.renewUpstream(because: .unreachable, at: MonotonicClock.now)
        #expect(await eventually { context.upstreamAddresses == [new[0], new[1], new[0]] })
    }

    @Test func `addresses that lead back to the proxy are left out, and told where there are no others`() async throws {
        let (own, server) = (loopback(port: 81), try Self.address("192.0.2.2"))
        let old = try Self.address("192.0.2.1")
        let events = Slot<ProxyEvent>()
        let answers = Answers([.success([own, server]), .success([own])])
        let context = try context([old], then: answers) { events.put($0) }
        context.renewUpstream(because: .unreachable, at: MonotonicClock.now)
        #expect(await eventually { context.upstreamAddresses == [server] })
        #expect(events.rest.isEmpty)
        var moment = MonotonicClock.now
        let isTold = await eventually {
            moment = moment + .seconds(31)
            context.renewUpstream(because: .connection, at: moment)
            return !events.rest.isEmpty
        }
        #expect(isTold && events.rest[0] == .upstreamLeadsBack(Endpoint(host: "up.test", port: 80)))
        #expect(context.upstreamAddresses == [server])
    }

    @Test func `a family that is switched off leaves the error of the address before it`() throws {
        let four = try Self.address("127.0.0.1")
        let six = try Self.address("::1")
        let refused = SystemError(call: "connect", code: ECONNREFUSED)
        let missing = SystemError(call: "connect", code: EADDRNOTAVAIL)
        #expect(missing.reported(for: six, after: refused) == refused)
        #expect(missing.reported(for: six, after: .connectTimeOut) == .connectTimeOut)
        #expect(missing.reported(for: six, after: nil) == missing)
        #expect(refused.reported(for: four, after: missing) == refused)
        #expect(refused.reported(for: six, after: .connectTimeOut) == refused)
    }

    @Test(arguments: [("192.0.2.1", false), ("::1", false), ("up.test", true)])
    func `a name is looked up again, and an address never`(host: String, isName: Bool) throws {
        let endpoint = Endpoint(host: host, port: 80)
        let addresses = UpstreamAddresses([try Self.address("192.0.2.1")], of: endpoint, at: Self.start)
        #expect(addresses.beginLookup(because: .unreachable, at: Self.start) == isName)
        addresses.endLookup()
        #expect(addresses.beginLookup(because: .connection, at: Self.start + .seconds(3_600)) == isName)
    }

    /// That of a proxy on a free port, whose upstream's name has what `answers` say.
    private static func configuration(
        resolvedBy answers: Answers,
        startsUnresolved: Bool = false
    ) -> ProxyConfiguration {
        var configuration = ProxyConfiguration(
            name: "test",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: Endpoint(host: "up.test", port: 80),
            profile: Profile(name: "plain"),
            seed: 1
        )
        configuration.registry = ProxyRegistry()
        configuration.startsUnresolved = startsUnresolved
        configuration.resolve = { endpoint async throws(SystemError) in
            endpoint.host == "up.test" ? try await answers.resolve(endpoint) : try await Resolver.resolve(endpoint)
        }
        return configuration
    }

    @Test func `a proxy whose upstream has moved finds it again after a connection has failed`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let (nobody, gone) = TestSocket.refusing()
        defer { nobody.close() }
        let answers = Answers([.success([gone]), .success([server.address])])
        let loops = try EventLoopGroup(count: 2)
        let configuration = Self.configuration(resolvedBy: answers)
        let events = Slot<ProxyEvent>()
        let proxy = try await Proxy.start(configuration, on: loops, report: { events.put($0) })
        let failures = try await blocking {
            var failures = 0
            // Before the lookup that is due because connections come.
            let deadline = MonotonicClock.now + (LookupSchedule.interval - .seconds(5))
            while MonotonicClock.now < deadline {
                let client = try TestSocket.connected(to: proxy.address).get()
                try? client.send([1])
                if (try? client.receive(1)) == [1] { return failures }
                failures += 1
            }
            return -1
        }
        #expect(failures > 0)
        let event = try await blocking { try events.next() }
        let upstream = try #require(configuration.destination.upstream)
        #expect(event == .upstreamUnreachable(upstream, SystemError(call: "connect", code: ECONNREFUSED)))
        await proxy.stop()
        await loops.stop()
    }

    @Test func `the first client after the name has an address is forwarded`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let answers = Answers([
            .failure(SystemError(call: "getaddrinfo", code: ENOENT)), .success([server.address]),
        ])
        let loops = try EventLoopGroup(count: 1)
        let configuration = Self.configuration(resolvedBy: answers, startsUnresolved: true)
        let proxy = try await Proxy.start(configuration, on: loops)
        // Nobody connects meanwhile.
        #expect(await eventually { !proxy.upstreamAddresses.isEmpty })
        try await blocking {
            let client = try TestSocket.connected(to: proxy.address).get()
            try client.send([1])
            #expect(try client.receive(1) == [1])
        }
        await proxy.stop()
        await loops.stop()
    }

    @Test func `a proxy that starts unresolved resets clients, tells why, and forwards once the name has an address`()
        async throws
    {
        let server = TestServer.echo()
        defer { server.stop() }
        let unknown = SystemError(call: "getaddrinfo", code: ENOENT)
        let answers = Answers([.failure(unknown), .failure(unknown), .success([server.address])])
        let loops = try EventLoopGroup(count: 2)
        let configuration = Self.configuration(resolvedBy: answers, startsUnresolved: true)
        let events = Slot<ProxyEvent>()
        let proxy = try await Proxy.start(configuration, on: loops, report: { events.put($0) })
        #expect(answers.calls.load(ordering: .sequentiallyConsistent) == 1)
        let failures = try await blocking {
            var failures = 0
            let deadline = MonotonicClock.now + (LookupSchedule.interval - .seconds(5))
            while MonotonicClock.now < deadline {
                // The proxy may reset a client before its connect returns.
                guard let client = try? TestSocket.connected(to: proxy.address).get() else {
                    failures += 1
                    continue
                }
                defer { client.close() }
                try? client.send([1])
                if (try? client.receive(1)) == [1] { return failures }
                failures += 1
            }
            return -1
        }
        #expect(failures > 1)
        let told = try await blocking { [try events.next(), try events.next()] }
        let upstream = try #require(configuration.destination.upstream)
        #expect(told == [.upstreamUnresolved(upstream, unknown), .upstreamUnreachable(upstream, unknown)])
        #expect(answers.calls.load(ordering: .sequentiallyConsistent) == 3)
        await proxy.stop()
        await loops.stop()
    }
}
