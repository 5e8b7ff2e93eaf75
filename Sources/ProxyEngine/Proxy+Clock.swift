import FaultPlan
import FaultProfile
import OperatingSystem
import Units

/// A change of a proxy's clock, on which its phases, `when.clock` and duty cycles run.
public enum ClockAction: Hashable, Sendable {
    /// Stops the clock: the current phase goes on until another action. Nothing if it is stopped.
    case pause
    /// Lets a stopped clock run on. Nothing if it runs.
    case resume
    /// Sets the clock to zero and lets it run: the first phase begins.
    case restart
    /// Sets the clock to the time at which the phase of this name begins first. A stopped clock stays stopped.
    case step(phase: String)
}

/// What a proxy's clock shows.
public struct ClockReading: Hashable, Sendable {
    /// The time on the clock; below zero before its start.
    public var time: Duration
    /// Whether the clock is stopped.
    public var isPaused: Bool
    /// The name of the current phase; `nil` outside all phases.
    public var phase: String?

    /// A reading; `phase` is `nil` outside all phases.
    public init(time: Duration, isPaused: Bool, phase: String?) {
        self.time = time
        self.isPaused = isPaused
        self.phase = phase
    }
}

extension Proxy {
    /// The clock of the phases now.
    public var clock: ClockReading { clock(at: MonotonicClock.now) }

    func clock(at now: Moment) -> ClockReading {
        let plan = plan
        let (clock, phase) = (plan.schedule.clock, plan.schedule.interval(at: now).phase)
        return ClockReading(
            time: clock.time(at: now),
            isPaused: clock.isPaused,
            phase: phase.map { plan.profile.phases[$0].name }
        )
    }

    /// Changes the clock of the phases, and returns when every loop follows it. It waits for no connection, and live
    /// connections lose no byte.
    ///
    /// Faults keep their state; those of phases, of `when.clock` and of duty cycles come on and go off as the clock has it
    /// now. Ages of connections, and rates that change over time, don't follow the clock.
    ///
    /// - Throws: `ProxyError.unknownPhase`, or `ProxyError.stopped` if the proxy has stopped; nothing has changed then.
    @discardableResult
    public func setClock(_ action: ClockAction) async throws(ProxyError) -> PlanChange {
        let listener = listener
        let result: Result<PlanChange, ProxyError> = await withCheckedContinuation { continuation in
            let isPosted = listener.loop.postBeyondLimit {
                listener.value.setClock(action) { continuation.resume(returning: $0) }
            }
            if !isPosted { continuation.resume(returning: .failure(.stopped)) }
        }
        let change = try result.get()
        apply(change)
        return change
    }

    /// Changes the clock of a simulated proxy; `done` is called when all loops follow it.
    package func setClockSimulated(
        _ action: ClockAction,
        done: @escaping @Sendable (Result<PlanChange, ProxyError>) -> Void
    ) {
        listener.value.setClock(action, done: done)
    }
}
