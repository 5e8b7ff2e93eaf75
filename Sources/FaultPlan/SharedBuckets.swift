import FaultProfile
import Units

/// A shared rate, with a bucket for each direction.
struct BucketPair: Sendable {
    private var upstream: SharedBucket
    private var downstream: SharedBucket

    init(_ bandwidth: Bandwidth, start: Moment) {
        upstream = SharedBucket(bandwidth, start: start)
        downstream = SharedBucket(bandwidth, start: start)
    }

    subscript(direction: Direction) -> SharedBucket {
        switch direction {
        case .upstream: upstream
        case .downstream: downstream
        }
    }

    /// Whether no link uses it.
    mutating func isIdle() -> Bool {
        isKnownUniquelyReferenced(&upstream) && isKnownUniquelyReferenced(&downstream)
    }
}

/// The rates shared by several proxies: `bandwidth` faults of global scope, keyed by name and rate. Made once and passed
/// to the plan of each proxy.
public struct GlobalBuckets: Sendable {
    private struct Key: Hashable {
        let name: String
        let bandwidth: Bandwidth
    }

    private let start: Moment
    private let pairs: [Key: BucketPair]

    /// Makes the rates of `profile`. Rates that change over time start at `start`.
    public init(_ profile: Profile, start: Moment) {
        self.init([profile], start: start, last: [:])
    }

    /// Makes the rates of several profiles.
    public init(_ profiles: [Profile], start: Moment) {
        self.init(profiles, start: start, last: [:])
    }

    private init(_ profiles: [Profile], start: Moment, last: [Key: BucketPair]) {
        var pairs: [Key: BucketPair] = [:]
        for fault in profiles.flatMap({ $0.faults + $0.phases.flatMap(\.faults) }) {
            guard case .bandwidth(let bandwidth) = fault.kind, bandwidth.scope == .global else { continue }
            let key = Key(name: fault.name, bandwidth: bandwidth)
            pairs[key] = pairs[key] ?? last[key] ?? BucketPair(bandwidth, start: start)
        }
        self.start = start
        self.pairs = pairs
    }

    /// The rates of new profiles; an unchanged rate continues.
    public func applying(_ profiles: [Profile]) -> GlobalBuckets {
        GlobalBuckets(profiles, start: start, last: pairs)
    }

    subscript(name: String, bandwidth: Bandwidth) -> BucketPair? { pairs[Key(name: name, bandwidth: bandwidth)] }
}

/// Stores the rates of clients for several threads: the acceptor, and the loops that apply a new plan to live connections.
/// Implementations lock.
public protocol ClientRateStore: Sendable {
    /// Calls `body` with the rates, one call at a time.
    func withRates<Result: Sendable>(_ body: (inout ClientBuckets) -> Result) -> Result
}

/// The rates shared by the connections of each client, for a bounded number of clients.
public struct ClientBuckets: Sendable {
    /// Clients with rates of their own: 4,096. Beyond that, clients without connections are removed; if there are none,
    /// further clients share one set of rates.
    static let limit = 4_096
    /// Clients beyond the limit between two searches for removable ones.
    private static let patience = 256

    private var rates: [String: [Int: BucketPair]] = [:]
    private var late: [Int: BucketPair] = [:]
    private var lateSinceLook = patience

    /// Makes an empty store.
    public init() {}

    /// The number of clients with rates of their own.
    var count: Int { rates.count }

    /// The rate of `client` for a fault, made by `make` on first use. A client of unknown address (`nil`) counts as one
    /// beyond the limit.
    mutating func pair(of client: String?, fault: Int, make: () -> BucketPair) -> BucketPair {
        guard let client, hasRoom(for: client) else { return Self.pair(fault, in: &late, make) }
        return Self.pair(fault, in: &rates[client, default: [:]], make)
    }

    /// Removes the rates of faults that are gone, by identity.
    mutating func keep(_ isKept: (Int) -> Bool) {
        for client in Array(rates.keys) { rates[client] = rates[client]?.filter { isKept($0.key) } }
        late = late.filter { isKept($0.key) }
    }

    private static func pair(_ fault: Int, in pairs: inout [Int: BucketPair], _ make: () -> BucketPair) -> BucketPair {
        if let pair = pairs[fault] { return pair }
        let pair = make()
        pairs[fault] = pair
        return pair
    }

    private mutating func hasRoom(for client: String) -> Bool {
        if rates.count < Self.limit || rates[client] != nil { return true }
        lateSinceLook += 1
        guard lateSinceLook >= Self.patience else { return false }
        lateSinceLook = 0
        forgetIdle()
        return rates.count < Self.limit
    }

    private mutating func forgetIdle() {
        for client in Array(rates.keys) {
            // Taken out of the table, so that only links refer to the rates.
            guard var pairs = rates.removeValue(forKey: client) else { continue }
            var isIdle = true
            for fault in Array(pairs.keys) {
                guard var pair = pairs.removeValue(forKey: fault) else { continue }
                if !pair.isIdle() { isIdle = false }
                pairs[fault] = pair
            }
            if !isIdle { rates[client] = pairs }
        }
        if rates.count < Self.limit { lateSinceLook = Self.patience }
    }
}
