import Dispatch
import EventLoop
import FaultPlan
import FaultProfile
import Foundation
import Glibc
import OperatingSystem
import ProxyEngine
import Synchronization
import TestSockets
import TestStreams
import Testing
import Units

/// What one thread hands to another, in order.
final class Slot<Value: Sendable>: Sendable {
    struct TimeOut: Error {}

    private let values = Mutex<[Value]>([])
    private let count = DispatchSemaphore(value: 0)

    func put(_ value: Value) {
        values.withLock { $0.append(value) }
        count.signal()
    }

    /// The next value, which is waited for, `TestSocket.patience` at most.
    func next() throws -> Value {
        guard count.wait(timeout: .now() + Double(TestSocket.patience)) == .success else { throw TimeOut() }
        return values.withLock { $0.removeFirst() }
    }

    /// Everything that nobody has taken.
    var rest: [Value] { values.withLock { $0 } }
}

/// A proxy in front of a server, and what it told.
struct Fixture: Sendable {
    let proxy: Proxy
    let loops: EventLoopGroup
    let journal: Slot<JournalEntry>
    let events: Slot<ProxyEvent>

    func client() throws -> TestSocket { try TestSocket.connected(to: proxy.address).get() }

    /// So many connections, each of which the echo server behind the proxy has answered.
    func answeredClients(_ count: Int) async throws -> [TestSocket] {
        try await blocking {
            try (0..<count).map { _ in
                let client = try client()
                try client.send([1])
                #expect(try client.receive(1) == [1])
                return client
            }
        }
    }

    /// Waits until no connection is open; `false` when that takes more than `TestSocket.patience`.
    func becomesIdle() async -> Bool { await becomes { $0.open == 0 } }

    /// Waits until the statistics are as wanted; `false` when that takes too long.
    func becomes(_ isWanted: (Statistics) -> Bool) async -> Bool {
        await eventually { isWanted(await proxy.statistics()) }
    }
}

/// Runs `body` with a proxy to `upstream`, or with a forward proxy where there is a `policy`; afterwards the proxy and its loops are stopped.
func withProxy<Result>(
    to upstream: SocketAddress,
    _ profile: Profile = Profile(name: "plain"),
    threads: Int = 2,
    listen: Endpoint = Endpoint(host: "127.0.0.1", port: 0),
    connectTimeout: Duration? = nil,
    connectionLimit: Int? = nil,
    global: GlobalBuckets? = nil,
    clockStart: Moment? = nil,
    drainLimits: DrainLimits? = nil,
    endings: EndingRules = EndingRules(),
    policy: ForwardPolicy? = nil,
    capture: Capture? = nil,
    resolve: (@Sendable (Endpoint) async throws(SystemError) -> [SocketAddress])? = nil,
    _ body: (Fixture) async throws -> Result
) async throws -> Result {
    let loops = try EventLoopGroup(count: threads)
    let journal = Slot<JournalEntry>()
    let events = Slot<ProxyEvent>()
    var configuration = ProxyConfiguration(
        name: "test",
        listen: listen,
        upstream: upstream.unix.map { Endpoint(unix: $0) } ?? Endpoint(host: upstream.host, port: upstream.port),
        profile: profile,
        seed: 7
    )
    if let connectTimeout { configuration.connectTimeout = connectTimeout }
    configuration.globalBuckets = global
    configuration.clockStart = clockStart
    if let policy { configuration.destination = .requested(policy) }
    if let resolve { configuration.resolve = resolve }
    configuration.endings = endings
    configuration.capture = capture
    if let drainLimits { configuration.drainLimits = drainLimits }
    if let connectionLimit { configuration.connectionLimit = connectionLimit }
    return try await ending(loops) { loops in
        let proxy = try await Proxy.start(
            configuration,
            on: loops,
            journal: { journal.put($0) },
            report: { events.put($0) }
        )
        let fixture = Fixture(proxy: proxy, loops: loops, journal: journal, events: events)
        return try await ending(fixture, after: body) { await proxy.stop() }
    } by: {
        await loops.stop()
    }
}

/// Whether `received` is `sent`. Without the difference that a failed `==` of long arrays would spend minutes on.
func isSame(_ received: [UInt8], as sent: [UInt8]) -> Bool {
    let isSame = received == sent
    if !isSame {
        let place = zip(received, sent).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        let end = min(received.count, sent.count)
        Issue.record("\(received.count) bytes of \(sent.count) came, and they differ from \(place ?? end) on")
    }
    return isSame
}

/// The time that `body` takes.
func duration(_ body: () throws -> Void) rethrows -> Duration {
    let start = MonotonicClock.now
    try body()
    return MonotonicClock.now - start
}

extension Profile {
    /// A profile whose only faults are these, always on, and these phases.
    init(_ kinds: [FaultKind], on stream: StreamSelection = .both, phases: [Phase] = [], repeats: Bool = false) {
        let faults = kinds.enumerated().map { index, kind in
            Fault(name: "\(kind.name.rawValue)-\(index)", stream: stream, kind: kind)
        }
        self.init(name: "test", faults: faults, phases: phases, repeats: repeats)
    }
}

extension Phase {
    /// A phase with an outage, or with nothing.
    init(_ name: String, _ duration: Duration?, _ how: Outage.Mode? = nil) {
        let faults = how.map { [Fault(name: "\(name)/outage", kind: .outage(Outage(how: $0)))] } ?? []
        self.init(name: name, duration: duration, faults: faults)
    }
}
