import ArgumentParser
import CommandParsing
import ProxyEngine
import Units

/// What captures keep.
struct CaptureLimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The newest bytes that the capture keeps, 1 MiB or more. (default: 256 MiB)",
            valueName: "size"
        ),
        transform: ArgumentReading.size
    )
    var pcapLimit: ByteCount?

    @Option(
        help: ArgumentHelp("The most bytes of each packet's content that it keeps; all by default.", valueName: "size"),
        transform: ArgumentReading.size
    )
    var pcapSnap: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Capture these connections alone, by their numbers: 3, 1..2 or 3..",
            valueName: "numbers"
        ),
        transform: CaptureLimitOptions.numbers
    )
    var pcapConnections: ClosedRange<UInt64>?

    func validate() throws {
        if let pcapLimit, pcapLimit < .mebibytes(1) { throw ValidationError("--pcap-limit is 1 MiB or more") }
    }

    /// Throws a usage error if there is no capture for an option; `remedy` is how to write one.
    func check(hasCapture: Bool, _ remedy: String) throws {
        guard !hasCapture else { return }
        for (name, isGiven) in [
            ("--pcap-limit", pcapLimit != nil), ("--pcap-snap", pcapSnap != nil),
            ("--pcap-connections", pcapConnections != nil),
        ] where isGiven {
            throw ValidationError("\(name) is for a capture: write \(remedy)")
        }
    }

    /// Throws a usage error if connections are chosen of a forward proxy, which numbers them once it knows their hosts.
    func check(isForward: Bool) throws {
        if isForward, pcapConnections != nil {
            throw ValidationError("--pcap-connections and --forward-proxy don't go together: leave one out")
        }
    }

    /// The settings of a capture at `path`.
    func settings(of path: String) -> Capture.Settings {
        var settings = Capture.Settings(path: path)
        if let pcapLimit { settings.limit = pcapLimit }
        if let pcapSnap { settings.snap = pcapSnap }
        if let pcapConnections { settings.connections = pcapConnections }
        return settings
    }

    /// The numbers of connections: "3", "1..2" or "3..".
    private static func numbers(_ argument: String) throws -> ClosedRange<UInt64> {
        let ends = argument.split(separator: "..", maxSplits: 1, omittingEmptySubsequences: false)
        let first = UInt64(ends[0])
        let last = ends.count == 1 ? first : ends[1].isEmpty ? .max : UInt64(ends[1])
        guard let first, let last, first >= 1, first <= last else {
            throw ValidationError("these are no numbers of connections: write 3, 1..2 or 3..")
        }
        return first...last
    }
}
