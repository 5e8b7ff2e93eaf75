import FaultProfile
import Units

/// A shared rate in both directions, each apart.
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

    /// Whether no link draws on it.
    mutating func isIdle() -> Bool {
        isKnownUniquelyReferenced(&upstream) && isKnownUniquelyReferenced(&downstream)
    }
}

/// The rates that several proxies share: those of the `bandwidth` faults whose scope is global, by the
/// names and the rates of the faults. Made once for each profile, and given to the plan of each proxy.
public struct GlobalBuckets: Sendable {
    private struct Key: Hashable {
        let name: String
        let bandwidth: Bandwidth
    }

    private let start: Moment
    private let pairs: [Key: BucketPair]

    /// Makes the rates that `profile` has. Where they change as time goes by, they begin to at `start`.
    public init(_ profile: Profile, start: Moment) {
        self.init([profile], start: start, last: [:])
    }

    /// Makes the rates that the profiles of several proxies have.
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

    /// The rates of other profiles; one that hasn't changed goes on.
    public func applying(_ profiles: [Profile]) -> GlobalBuckets {
        GlobalBuckets(profiles, start: start, last: pairs)
    }

    subscript(name: String, bandwidth: Bandwidth) -> BucketPair? { pairs[Key(name: name, bandwidth: bandwidth)] }
}

/// Keeps the rates of clients where several threads ask for them: the one that accepts connections, and those that have live
/// ones go on with another plan. Whoever has the threads makes one that locks.
public protocol ClientRateStore: Sendable {
    /// Calls `body` with the rates, one call at a time.
    func withRates<Result: Sendable>(_ body: (inout ClientBuckets) -> Result) -> Result
}

/// The rates that the connections of a client share, for so many clients at a time.
public struct ClientBuckets: Sendable {
    /// The clients that have rates of their own, 4,096. Before one more is let in, those without a
    /// connection are forgotten; if there is none, it shares the rates of all others that came too late.
    static let limit = 4_096
    /// The clients that come too late before it is looked again whether one can be forgotten.
    private static let patience = 256

    private var rates: [String: [Int: BucketPair]] = [:]
    private var late: [Int: BucketPair] = [:]
    private var lateSinceLook = patience

    /// The rates of nobody.
    public init() {}

    /// The clients that have rates of their own.
    var count: Int { rates.count }

    /// The rate of `client` for a fault; `make` makes it where it isn't there yet. `nil` is a client that
    /// nobody knows the address of: it is among the late ones.
    mutating func pair(of client: String?, fault: Int, make: () -> BucketPair) -> BucketPair {
        guard let client, hasRoom(for: client) else { return Self.pair(fault, in: &late, make) }
        return Self.pair(fault, in: &rates[client, default: [:]], make)
    }

    /// Forgets the rates of faults that are gone, by their identities.
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
            // Taken out of the table, so that nobody but the links refers to the rates.
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
