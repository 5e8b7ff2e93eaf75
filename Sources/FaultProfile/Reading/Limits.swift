/// The bounds of a profile. Whatever exceeds one is a problem, and says so.
public enum ProfileLimits {
    /// Bytes of a file: 1 MiB.
    public static let fileBytes = 1 << 20
    /// Bytes of a text with an embedded profile: 64 MiB, as of a journal. A profile merged of several files is longer than a
    /// file may be.
    public static let embeddingBytes = 64 << 20
    /// Faults of a profile with all its phases and bases.
    public static let faults = 256
    /// Phases of a profile.
    public static let phases = 256
    /// Proxies of a profile.
    public static let proxies = 64
    /// Offsets in the list of one cut.
    public static let cutOffsets = 256
    /// Durations in the table of quantiles of one latency.
    public static let quantiles = 256
    /// Values in the list of one trigger, such as names of hosts.
    public static let triggerValues = 64
    /// Steps of one bandwidth.
    public static let rateSteps = 256
    /// Files with traces of a profile with its bases.
    public static let traces = 16
    /// Bytes of a trace: 8 MiB.
    public static let traceBytes = 8 << 20
    /// Lines of a trace.
    public static let traceLines = 1_000_000
    /// Bytes of a file with a certificate and its key: 1 MiB.
    public static let certificateBytes = 1 << 20
    /// The mean length of a burst of losses, in packets.
    public static let burstLength = 1_000
    /// A round trip: a day, more than it takes to Pluto and back.
    public static let roundTrip = Duration.seconds(86_400)
    /// The shortest repeating time: 1 ms, the granularity of links. Each change wakes every connection concerned.
    public static let shortestPeriod = Duration.milliseconds(1)
    /// Presets of a file.
    public static let presets = 256
    /// Keys of an object that are compared with known words to guess what it was meant to be. The comparison is slow.
    static let comparedKeys = 64
    /// Profiles that a profile is based on, one through the other.
    public static let extendsDepth = 8
    /// Bytes of the pattern of one cut.
    public static let patternBytes = 256
    /// Characters of bytes in hexadecimal digits: 4 KiB of bytes, separated by spaces.
    public static let hexadecimalLength = 12_288
    /// Fields that one `when.http` names, or that one answer has.
    public static let httpFields = 32
    /// Bytes of the content of one answer: 64 KiB.
    public static let answerBytes = 64 << 10
    /// Characters of a name.
    public static let nameLength = 100
    /// Characters of the name of a fault: a made-up one has the name of a phase, a kind and a number.
    public static let faultNameLength = 128
    /// Characters of the path of a trace with the folder in front: Linux opens none that is longer.
    public static let pathLength = 4096
    /// Characters of a summary, of a source or of what `extends` says.
    public static let textLength = 1000
    /// Characters of a text with a value and its unit.
    public static let valueLength = 400
    /// The highest number of a connection that `when` can name, and the largest step.
    public static let connectionNumber: UInt64 = 999_999_999_999
}
