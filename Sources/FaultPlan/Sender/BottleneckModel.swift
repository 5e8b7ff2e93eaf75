import Units

/// BBR: what a sender believes of the path's bandwidth and round trip, and the pace and window that follow.
///
/// This is version 1 as in Linux (N. Cardwell et al., "BBR: congestion-based congestion control", 2016), without its
/// long-term bandwidth for policers.
struct BottleneckModel {
    private enum Mode { case startup, drain, probeBandwidth, probeRoundTrip }

    /// The gain that doubles the rate in each round trip: 2/ln 2.
    private static let highGain = 2.885
    /// The gains of the phases in which the bandwidth is probed, one round trip each.
    private static let gains = [1.25, 0.75, 1, 1, 1, 1, 1, 1]
    /// The rounds for which a bandwidth is remembered.
    private static let memory = 10
    /// How long the least round trip is believed, and how long it is measured: 10 s and 200 ms.
    private static let roundTripAge: Int64 = 10_000_000_000
    private static let probeTime: Int64 = 200_000_000
    /// The least window, in segments.
    private static let leastWindow = 4.0
    /// The share of the bandwidth that is used, so that no queue builds up.
    private static let margin = 0.99

    /// The pace, in segments per nanosecond.
    private(set) var pace: Double
    private var mode = Mode.startup
    private var gain = BottleneckModel.highGain
    private var windowGain = BottleneckModel.highGain
    /// The highest bandwidth of each of the last rounds, in segments per nanosecond.
    private var bandwidths = ContiguousArray(repeating: 0.0, count: BottleneckModel.memory)
    private var round = 0
    /// The round of the last bandwidth that counts.
    private var lastRound = 0
    /// What had been delivered when the round began.
    private var roundEnd: Int64 = 0
    private var roundTrip: Int64
    private var roundTripMoment: Int64
    private var fullBandwidth = 0.0
    private var fullCount = 0
    private var cycle = 0
    private var cycleStart: Int64 = 0
    private var probeEnd: Int64?
    private var hasProbedRound = false
    private var priorWindow = 0.0
    private var wasRecovering = false
    private var conservesPackets = false
    private let key: RandomKey

    /// Begins a connection at `now` that has seen a round trip of `roundTrip` nanoseconds.
    init(roundTrip: Int64, now: Int64, key: RandomKey) {
        self.roundTrip = max(1, roundTrip)
        self.key = key
        roundTripMoment = now
        pace = Self.highGain * CongestionWindow.initial / Double(max(1, roundTrip))
    }

    /// What an acknowledgement tells.
    struct Sample {
        var moment: Int64
        /// Segments per nanosecond; `nil` if too few were sent to tell.
        var bandwidth: Double?
        /// How many segments had been delivered when the acknowledged one was sent, and how many are now.
        var deliveredBefore: Int64
        var delivered: Int64
        var roundTrip: Int64
        /// The segments in flight before and after it, and those it acknowledges and shows to be lost.
        var flightBefore: Int
        var flight: Int
        var acknowledged: Int
        var lost: Int
        var isRecovering: Bool
        /// Whether too little was there to send.
        var isStarved: Bool
    }

    /// Whether the window is small so that the path's queue empties.
    var isMeasuringRoundTrip: Bool { mode == .probeRoundTrip }

    private var bandwidth: Double { bandwidths.max() ?? 0 }
    private var isFull: Bool { fullCount >= 3 }

    /// Remembers the window before a recovery.
    mutating func beginRecovery(window: Double) {
        priorWindow = wasRecovering || mode == .probeRoundTrip ? max(priorWindow, window) : window
    }

    /// A timer has fired: what the path carries at most is to be found again.
    mutating func timeOut() {
        fullBandwidth = 0
        wasRecovering = true
    }

    /// Takes a sample; returns the new window.
    mutating func receive(_ sample: Sample, window: Double) -> Double {
        let isNewRound = takeBandwidth(sample)
        if mode == .probeBandwidth { turn(sample) }
        if isNewRound, !sample.isStarved, !isFull { lookForTheEnd() }
        if mode == .startup, isFull {
            mode = .drain
            (gain, windowGain) = (1 / Self.highGain, Self.highGain)
        }
        if mode == .drain, Double(sample.flight) <= flight(1) { probeBandwidth(at: sample.moment) }
        measureRoundTrip(sample, isNewRound)
        let target = gain * bandwidth * Self.margin
        if bandwidth > 0, isFull || target > pace { pace = target }
        let next = newWindow(sample, window)
        return mode == .probeRoundTrip ? min(next, Self.leastWindow) : next
    }

    private mutating func takeBandwidth(_ sample: Sample) -> Bool {
        guard let bandwidth = sample.bandwidth else { return false }
        let isNewRound = sample.deliveredBefore >= roundEnd
        if isNewRound {
            roundEnd = sample.delivered
            round += 1
            conservesPackets = false
        }
        guard !sample.isStarved || bandwidth >= self.bandwidth else { return isNewRound }
        // What is remembered ages only while there is something to learn.
        for old in max(lastRound, round - Self.memory)..<round { bandwidths[(old + 1) % Self.memory] = 0 }
        lastRound = round
        bandwidths[round % Self.memory] = max(bandwidths[round % Self.memory], bandwidth)
        return isNewRound
    }

    /// The segments in flight at a gain, with what Linux adds so that its bursts fit.
    private func flight(_ gain: Double) -> Double {
        guard bandwidth > 0 else { return CongestionWindow.initial }
        let burst = max(2, (pace * 1_000_000).rounded(.down))
        return (gain * bandwidth * Double(roundTrip)).rounded(.up) + 3 * min(burst, 44)
    }

    /// Goes through the phases in which the bandwidth is probed.
    private mutating func turn(_ sample: Sample) {
        let isLong = sample.moment - cycleStart > roundTrip
        let isOver =
            switch gain {
            case 1: isLong
            case ..<1: isLong || Double(sample.flightBefore) <= flight(1)
            default: isLong && (sample.lost > 0 || Double(sample.flightBefore) >= flight(gain))
            }
        guard isOver else { return }
        cycle = (cycle + 1) % Self.gains.count
        cycleStart = sample.moment
        gain = Self.gains[cycle]
    }

    private mutating func probeBandwidth(at moment: Int64) {
        mode = .probeBandwidth
        // Any phase but the one that drains.
        cycle = (2 + Int(key.draw(from: 0, through: 6))) % Self.gains.count
        cycleStart = moment
        (gain, windowGain) = (Self.gains[cycle], 2)
    }

    /// The path is full when three rounds have brought less than a quarter more.
    private mutating func lookForTheEnd() {
        if bandwidth >= fullBandwidth * 1.25 {
            fullBandwidth = bandwidth
            fullCount = 0
        } else {
            fullCount += 1
        }
    }

    private mutating func measureRoundTrip(_ sample: Sample, _ isNewRound: Bool) {
        let hasExpired = sample.moment - roundTripMoment > Self.roundTripAge
        if sample.roundTrip < roundTrip || hasExpired {
            roundTrip = max(1, sample.roundTrip)
            roundTripMoment = sample.moment
        }
        if hasExpired, mode != .probeRoundTrip {
            mode = .probeRoundTrip
            gain = 1
            probeEnd = nil
            priorWindow = wasRecovering ? max(priorWindow, lastWindow) : lastWindow
        }
        guard mode == .probeRoundTrip else { return }
        if let probeEnd {
            if isNewRound { hasProbedRound = true }
            guard hasProbedRound, sample.moment > probeEnd else { return }
            roundTripMoment = sample.moment
            restores = true
            if isFull {
                probeBandwidth(at: sample.moment)
            } else {
                mode = .startup
                (gain, windowGain) = (Self.highGain, Self.highGain)
            }
        } else if Double(sample.flight) <= Self.leastWindow {
            probeEnd = sample.moment + Self.probeTime
            hasProbedRound = false
            roundEnd = sample.delivered
        }
    }

    /// The window at the last call, and whether it returns to what it was before the round trip was measured.
    private var lastWindow = CongestionWindow.initial
    private var restores = false

    private mutating func newWindow(_ sample: Sample, _ current: Double) -> Double {
        var window = current
        defer { lastWindow = window }
        if restores {
            restores = false
            window = max(window, priorWindow)
        }
        if sample.lost > 0 { window = max(1, window - Double(sample.lost)) }
        if sample.isRecovering, !wasRecovering {
            conservesPackets = true
            roundEnd = sample.delivered
            window = Double(sample.flight + sample.acknowledged)
        } else if wasRecovering, !sample.isRecovering {
            window = max(window, priorWindow)
            conservesPackets = false
        }
        wasRecovering = sample.isRecovering
        if conservesPackets {
            window = max(window, Double(sample.flight + sample.acknowledged))
            return window
        }
        let target = flight(windowGain)
        if isFull {
            window = min(window + Double(sample.acknowledged), target)
        } else if window < target || sample.delivered < Int64(CongestionWindow.initial) {
            window += Double(sample.acknowledged)
        }
        window = max(window, Self.leastWindow)
        return window
    }
}
