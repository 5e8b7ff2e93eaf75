import Units

/// The recent rate of a transfer; pauses between attempts don't count.
struct RateMeter {
    /// The averaging window.
    static let window = Duration.seconds(5)
    /// The minimum interval between samples.
    static let spacing = Duration.milliseconds(250)
    /// The minimum time for a meaningful rate.
    static let minimumTime = Duration.milliseconds(500)

    private var samples: [(at: Duration, moved: Int64)] = []
    private var moved: Int64 = 0
    /// When the last byte was transferred.
    private var movedAt = Duration.zero
    private var start: Moment?
    private var paused = Duration.zero
    private var pausedSince: Moment?

    /// The number of samples: those in the window and one before it.
    var count: Int { samples.count }

    /// Adds `bytes` transferred up to `now`. The first call starts the clock.
    mutating func move(_ bytes: Int64, at now: Moment) {
        resume(at: now)
        moved = moved.addingSaturated(max(0, bytes))
        let time = time(at: now)
        if bytes > 0 { movedAt = time }
        if let last = samples.last, time - last.at < Self.spacing { return }
        samples.append((time, moved))
        while samples.count > 2, samples[1].at <= time - Self.window { samples.removeFirst() }
    }

    /// Pauses the meter from `now` until the next transfer.
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

    /// The rate over the window in bytes per second; `nil` in the first half second.
    func bytesPerSecond(at now: Moment) -> Double? {
        let time = time(at: now)
        guard let first = samples.last(where: { $0.at <= time - Self.window }) ?? samples.first else { return nil }
        // Events are sparse: measures up to the last byte unless it is long ago.
        let elapsed = max(movedAt, time - Self.spacing) - first.at
        guard elapsed >= Self.minimumTime else { return nil }
        guard movedAt > time - Self.window else { return 0 }
        return Double(moved - first.moved) / (Double(elapsed.nanoseconds) / 1e9)
    }
}
