import Glibc

/// The local time zone.
public enum LocalTime {
    /// How far the local clock is ahead of UTC at a time.
    public static func offset(atSecondsSince1970 seconds: Int64) -> Duration {
        var (time, parts) = (time_t(seconds), tm())
        tzset()
        guard localtime_r(&time, &parts) != nil else { return .zero }
        return .seconds(parts.tm_gmtoff)
    }
}
