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
        transform: { argument in
            try ArgumentReading.value(argument) { text throws(UnitError) in try Capture.Settings.connections(text) }
        }
    )
    var pcapConnections: ClosedRange<UInt64>?

    func validate() throws {
        if let pcapLimit, pcapLimit < .mebibytes(1) { throw ValidationError("--pcap-limit is 1 MiB or more") }
    }

    /// Throws a usage error if there is no capture for an option; `remedy` is how to write one.
    func check(_ pcap: String?, _ remedy: String = "--pcap FILE") throws {
        guard pcap == nil else { return }
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
}
