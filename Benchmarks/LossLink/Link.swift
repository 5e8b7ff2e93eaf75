/// The conditions of all flows to a port of the server.
struct Cell {
    let bitsPerSecond: Double
    let oneWayNanoseconds: UInt64
    let queuePackets: Int
    /// Losses of packets with payload from the server.
    let loss: Double
    /// The mean number of packets lost in a row. 1 draws each packet by itself.
    let burst: Double
    /// Losses of SYN and SYN-ACK, each drawn by itself.
    let handshakeLoss: Double
    /// When a flow's link fails in both directions, after its first SYN, and for how long; 0 is never.
    let outage: (after: UInt64, length: UInt64)
}

/// A flow's link that fails for a time: packets that come meanwhile are lost, those on their way arrive.
struct LinkOutage {
    /// The most transmissions that are noted.
    private static let limit = 64
    /// A packet so long after the one before it is sent by a timer: 10 ms.
    private static let pause: UInt64 = 10_000_000

    private let begin: UInt64
    private let end: UInt64
    private var highest: UInt32 = 0
    private var last: UInt64 = 0
    /// The transmissions of the server's timers: milliseconds since the failure, and whether it sent the bytes before.
    private(set) var attempts: [(time: Double, isAgain: Bool)] = []
    /// Whether bytes that were sent before have got through.
    private var isOver: Bool

    init(_ cell: Cell, at now: UInt64) {
        begin = now + cell.outage.after
        end = begin + cell.outage.length
        isOver = cell.outage.length == 0
    }

    func loses(at now: UInt64) -> Bool { now >= begin && now < end }

    /// Notes a packet of the server with `payload` bytes from `offset` of its stream on.
    mutating func note(offset: UInt32, payload: Int, at now: UInt64) {
        let isAgain = offset < highest
        if now >= begin, !isOver, now - last >= Self.pause, attempts.count < Self.limit {
            attempts.append((Double(now - begin) / 1e6, isAgain))
            isOver = isAgain && now >= end
        }
        highest = max(highest, offset &+ UInt32(payload))
        last = now
    }
}

/// SplitMix64.
struct Generator {
    private var state: UInt64

    init(seed: UInt64, _ parts: UInt64...) {
        state = seed
        for part in parts { state = next() ^ part }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// From 0 up to, but without, 1.
    mutating func share() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }
}

/// Losses of a flow's packets: each by itself, or Gilbert's two states, of which the bad one loses all.
struct LossProcess {
    private var generator: Generator
    private let cell: Cell
    private var isBad: Bool

    init(_ cell: Cell, _ generator: Generator) {
        self.cell = cell
        var generator = generator
        isBad = generator.share() < cell.loss
        self.generator = generator
    }

    mutating func losesData() -> Bool {
        let draw = generator.share()
        if cell.burst <= 1 { return draw < cell.loss }
        let loses = isBad
        isBad = isBad ? draw >= 1 / cell.burst : draw < cell.loss / (cell.burst * (1 - cell.loss))
        return loses
    }

    mutating func losesHandshake() -> Bool { cell.handshakeLoss > 0 && generator.share() < cell.handshakeLoss }
}

/// A serial link with a drop-tail queue in front of it.
struct Link {
    /// The bytes of an Ethernet header, which each packet has on the link.
    static let framing = 14

    private var freeAt: UInt64 = 0
    /// Ends of transmissions, as a ring: those in the future are the queue, with the packet that is being sent.
    private var ends: [UInt64]
    private var first = 0
    private var count = 0

    init(queuePackets: Int) {
        // One more than the queue: the packet that is being sent.
        ends = Array(repeating: 0, count: queuePackets + 1)
    }

    /// When the packet has been sent, or `nil` if the queue is full.
    mutating func accept(bytes: Int, at now: UInt64, bitsPerSecond: Double) -> UInt64? {
        while count > 0, ends[first] <= now {
            first = (first + 1) % ends.count
            count -= 1
        }
        if count == ends.count { return nil }
        freeAt = max(freeAt, now) + UInt64(Double(bytes + Link.framing) * 8e9 / bitsPerSecond)
        ends[(first + count) % ends.count] = freeAt
        count += 1
        return freeAt
    }
}

/// Durations by size, within 12 % each.
struct Histogram {
    private var counts = [UInt32](repeating: 0, count: 128)
    private(set) var largest: UInt64 = 0

    mutating func add(nanoseconds: UInt64) {
        largest = max(largest, nanoseconds)
        // Eight buckets for each power of two, from 1 µs on.
        let units = nanoseconds / 125
        let power = max(0, 60 - units.leadingZeroBitCount)
        let bucket = units < 8 ? Int(units) : 8 * power + Int(units >> UInt64(power))
        counts[min(127, bucket)] += 1
    }

    /// The upper end of the bucket that a share of the durations lies at or below, in microseconds.
    func microseconds(below share: Double) -> Double {
        let wanted = Double(counts.reduce(0) { $0 + Int($1) }) * share
        var seen = 0.0
        for (index, count) in counts.enumerated() where count > 0 {
            seen += Double(count)
            if seen >= wanted {
                let end = index < 8 ? UInt64(index + 1) : UInt64(index % 8 + 9) << UInt64(index / 8 - 1)
                return min(Double(end) * 0.125, Double(largest) / 1000)
            }
        }
        return 0
    }
}
