import FaultProfile
import Units

/// The spikes of a latency fault, on the clock of the connection or of the proxy. Times are in nanoseconds.
struct SpikeTimes {
    /// The extra delay of a spike.
    let extra: Int64
    /// Whether the delay lies behind the bottleneck.
    let isBehind: Bool
    private let every: Int64
    private let duration: Int64
    private let isCommon: Bool
    private let shift: Int64

    /// Draws the time of the first spike with the key of the connection's direction, or with that of all connections.
    init(_ spikes: Latency.Spikes, key: RandomKey, commonKey: RandomKey) {
        every = spikes.every.nanoseconds
        duration = spikes.duration.nanoseconds
        extra = spikes.extra.nanoseconds
        isBehind = spikes.isBehind
        isCommon = spikes.scope == .proxy
        let fraction = (isCommon ? commonKey : key).adding("spikes").bits(at: 0)
        shift = Int64(fraction.multipliedFullWidth(by: every.magnitude).high)
    }

    /// The extra delay of a byte that comes at a time of the clocks.
    func extra(at time: LinkTime) -> Int64 { elapsed(time) >= 0 && place(time) < duration ? extra : 0 }

    /// How long after a time a spike begins or ends.
    func change(after time: LinkTime) -> Int64 {
        let elapsed = elapsed(time)
        // No spike comes before the clock starts.
        if elapsed < 0 { return Int64.zero.subtractingSaturated(elapsed) }
        let place = place(time)
        return (place < duration ? duration : every) - place
    }

    /// The time on the clock of the spikes; below zero before it starts.
    private func elapsed(_ time: LinkTime) -> Int64 { isCommon ? time.clock : time.age }

    /// The time since the last spike began, at a time after the start of the clock.
    private func place(_ time: LinkTime) -> Int64 { (elapsed(time) % every).addingSaturated(shift) % every }
}
