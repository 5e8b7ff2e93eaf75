import Units

/// The rate of a transfer over its last seconds; the time between two attempts doesn't count.
struct RateMeter {
    /// The time over which the rate is taken.
    static let window = Duration.seconds(5)
    /// The least time between two samples.
    static let spacing = Duration.milliseconds(250)
    /// A rate over less time says nothing.
    static let leastTime = Duration.milliseconds(500)

    private var samples: [(at: Duration, moved: Int64)] = []
    private var moved: Int64 = 0
    /// When the last byte moved.
    private var movedAt = Duration.zero
    private var start: Moment?
    private var paused = Duration.zero
    private var pausedSince: Moment?

    /// The samples that are kept: those of the window, and one before it.
    var count: Int { samples.count }

    /// `bytes` have moved up to `now`. The first call starts the time.
    mutating func move(_ bytes: Int64, at now: Moment) {
        resume(at: now)
        moved = moved.addingSaturated(max(0, bytes))
        let time = time(at: now)
        if bytes > 0 { movedAt = time }
        if let last = samples.last, time - last.at < Self.spacing { return }
        samples.append((time, moved))
        while samples.count > 2, samples[1].at <= time - Self.window { samples.removeFirst() }
    }

    /// The transfer waits from `now` on, until something moves.
    mutating func pause(at now: Moment) {
        if pausedSince == nil { pausedSince = now }
    }

    private mutating func resume(at now: Moment) {
        if start == nil { start = now }
        if let since = pausedSince { paused += max(.zero, now - since) }
        pausedSince = nil
    }

    private func time(at now: Moment) -> Duration {
        guard let start else { return .zero }
        let end = pausedSince.map { min($0, now) } ?? now
        return max(.zero, end - start - paused)
    }

    /// The bytes a second over the window; `nil` in the first half second.
    func bytesPerSecond(at now: Moment) -> Double? {
        let time = time(at: now)
        guard let first = samples.last(where: { $0.at <= time - Self.window }) ?? samples.first else { return nil }
        // Events come now and then: up to the last byte, unless that was a while ago.
        let elapsed = max(movedAt, time - Self.spacing) - first.at
        guard elapsed >= Self.leastTime else { return nil }
        guard movedAt > time - Self.window else { return 0 }
        return Double(moved - first.moved) / (Double(elapsed.nanoseconds) / 1e9)
    }
}
