import Units

/// The clock of a proxy, on which its phases, `when.clock` and duty cycles run. A value: every change makes another one.
///
/// All its moments are those of the monotonic clock that the plan is asked with. A stopped clock has one answer for all of
/// them.
public struct PhaseClock: Hashable, Sendable {
    /// The moment at which the clock showed zero, or would have, had it not been set.
    public private(set) var start: Moment
    /// The moment at which it was stopped; `nil` while it runs.
    public private(set) var stopped: Moment?

    /// A running clock that shows zero at `start`.
    public init(start: Moment) {
        self.start = start
    }

    /// Whether it stands still.
    public var isPaused: Bool { stopped != nil }

    /// The time that it shows at `now`; below zero before its start.
    public func time(at now: Moment) -> Duration { moment(at: now) - start }

    /// The moment that counts for the clock at `now`.
    func moment(at now: Moment) -> Moment { stopped ?? now }

    /// The clock stopped at `now`. A stopped clock stays as it is.
    public func paused(at now: Moment) -> PhaseClock {
        var clock = self
        clock.stopped = stopped ?? now
        return clock
    }

    /// The clock running on from the time that it shows. A running clock stays as it is.
    public func resumed(at now: Moment) -> PhaseClock {
        isPaused ? PhaseClock(showing: time(at: now), at: now) : self
    }

    /// The clock set to `time` at `now`; it runs or stands still as before.
    public func set(to time: Duration, at now: Moment) -> PhaseClock {
        var clock = PhaseClock(showing: time, at: now)
        if isPaused { clock.stopped = now }
        return clock
    }

    /// A running clock that shows zero at `now`.
    public static func restarted(at now: Moment) -> PhaseClock { PhaseClock(start: now) }

    private init(showing time: Duration, at now: Moment) {
        start = Moment(nanoseconds: now.nanoseconds.subtractingSaturated(time.nanoseconds))
    }
}
