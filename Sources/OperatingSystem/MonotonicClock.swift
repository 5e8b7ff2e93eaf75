import Glibc
import Units

/// The clock of loops and proxies: CLOCK_MONOTONIC.
public enum MonotonicClock {
    /// The time now, in nanoseconds since the machine started.
    public static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
