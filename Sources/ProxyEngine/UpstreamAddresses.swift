import EventLoop
import Synchronization
import Units

/// When the name of an upstream is looked up again, one lookup at a time. A value without a clock.
struct LookupSchedule {
    /// The time from one lookup to the next while connections come: 30 s.
    static let interval = Duration.seconds(30)
    /// The time between two lookups because no address could be reached: 1 s.
    static let pause = Duration.seconds(1)

    /// Why the name may have to be looked up.
    enum Reason {
        /// A connection has come, for which the addresses may be old.
        case connection
        /// A connection has found no address that could be reached.
        case unreachable
    }

    private var last: Moment
    private var lastUnreachable: Moment?
    private var isRunning = false

    /// The schedule of a name that has been looked up at `moment`.
    init(lookedUpAt moment: Moment) {
        last = moment
    }

    /// Whether a lookup begins now; `end` ends it.
    mutating func begin(because reason: Reason, at now: Moment) -> Bool {
        guard !isRunning else { return false }
        switch reason {
        case .connection:
            guard now - last >= LookupSchedule.interval else { return false }
        case .unreachable:
            if let lastUnreachable, now - lastUnreachable < LookupSchedule.pause { return false }
            lastUnreachable = now
        }
        (last, isRunning) = (now, true)
        return true
    }

    /// The lookup has ended, whatever it has found.
    mutating func end() { isRunning = false }
}

/// The addresses of an upstream, and when its name is looked up again. Connections read the addresses, and never wait for
/// a lookup.
final class UpstreamAddresses: Sendable {
    private struct State {
        var addresses: [SocketAddress]
        var schedule: LookupSchedule
    }

    private let state: Mutex<State>
    /// Whether the upstream is a name, which may get other addresses.
    private let isName: Bool

    /// The addresses that were found for `endpoint` at `moment`, at least one.
    init(_ addresses: [SocketAddress], of endpoint: Endpoint, at moment: Moment) {
        state = Mutex(State(addresses: addresses, schedule: LookupSchedule(lookedUpAt: moment)))
        isName = endpoint.unix == nil && SocketAddress(numericHost: endpoint.host, port: endpoint.port) == nil
    }

    /// The addresses now, in the order in which they are tried.
    var all: [SocketAddress] { state.withLock { $0.addresses } }

    /// Whether a lookup begins now; `endLookup` ends it.
    func beginLookup(because reason: LookupSchedule.Reason, at now: Moment) -> Bool {
        isName && state.withLock { $0.schedule.begin(because: reason, at: now) }
    }

    /// The lookup has ended, whatever it has found.
    func endLookup() { state.withLock { $0.schedule.end() } }

    /// Has connections go to `addresses` from here on, at least one.
    ///
    /// The list gets no shorter, since a connection remembers the index of an address while it tries it: the addresses
    /// are repeated instead.
    func replace(by addresses: [SocketAddress]) {
        state.withLock { state in
            let count = max(addresses.count, state.addresses.count)
            state.addresses = (0..<count).map { addresses[$0 % addresses.count] }
        }
    }
}
