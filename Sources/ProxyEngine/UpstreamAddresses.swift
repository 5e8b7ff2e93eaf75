import EventLoop
import OperatingSystem
import Synchronization
import Units

/// Schedules the lookups of an upstream's name, one at a time. A value without a clock.
struct LookupSchedule {
    /// The interval between lookups while connections come: 30 s.
    static let interval = Duration.seconds(30)
    /// The shortest interval between lookups for unreachable addresses: 1 s.
    static let pause = Duration.seconds(1)

    /// The reason for a lookup.
    enum Reason {
        /// A new connection.
        case connection
        /// A connection that could reach no address.
        case unreachable
    }

    private var last: Moment
    private var lastUnreachable: Moment?
    private var isRunning = false

    init(lookedUpAt moment: Moment) {
        last = moment
    }

    /// Begins a lookup if one is due; `end` ends it.
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

    mutating func end() { isRunning = false }
}

/// The addresses of an upstream. Connections read them and never wait for a lookup.
final class UpstreamAddresses: Sendable {
    private struct State {
        var addresses: [SocketAddress]
        /// The failure of the last lookup, while there are no addresses.
        var failure: SystemError?
        var schedule: LookupSchedule
    }

    private let state: Mutex<State>
    /// Whether the upstream is a name, whose addresses may change.
    private let isName: Bool

    /// The addresses that were found for `endpoint` at `moment`; none after a `failure`, or without an endpoint.
    init(_ addresses: [SocketAddress], of endpoint: Endpoint?, failure: SystemError? = nil, at moment: Moment) {
        state = Mutex(State(addresses: addresses, failure: failure, schedule: LookupSchedule(lookedUpAt: moment)))
        isName =
            endpoint.map {
                $0.unix == nil && SocketAddress(numericHost: $0.host, port: $0.port) == nil
            } ?? false
    }

    /// The current addresses, in the order of dialing; none while no lookup has found one.
    var all: [SocketAddress] { state.withLock { $0.addresses } }

    /// The reason why there are no addresses.
    var failure: SystemError? { state.withLock { $0.failure } }

    /// Whether a lookup begins now; `endLookup` ends it.
    func beginLookup(because reason: LookupSchedule.Reason, at now: Moment) -> Bool {
        isName && state.withLock { $0.schedule.begin(because: reason, at: now) }
    }

    func endLookup() { state.withLock { $0.schedule.end() } }

    /// Notes that a lookup has failed; the addresses stay.
    func note(_ failure: SystemError) { state.withLock { if $0.addresses.isEmpty { $0.failure = failure } } }

    /// Replaces the addresses by `addresses`, at least one.
    ///
    /// The list never gets shorter, because a connection keeps the index of the address that it dials; the addresses are
    /// repeated instead.
    func replace(by addresses: [SocketAddress]) {
        state.withLock { state in
            let count = max(addresses.count, state.addresses.count)
            state.failure = nil
            state.addresses = (0..<count).map { addresses[$0 % addresses.count] }
        }
    }
}
