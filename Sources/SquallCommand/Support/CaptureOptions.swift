import ArgumentParser
import CommandParsing
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRunners
import TerminalDisplay
import Units

/// The options of the commands that capture what passes.
struct CaptureOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write every packet, with a comment where a fault acts, as pcapng for Wireshark; - is standard output, but "
                + "not where a command has it.",
            valueName: "file"
        ),
        completion: .file()
    )
    var pcap: String?

    /// Throws a usage error if the capture and something else would go to standard output, or to one that nobody sees.
    func check(journal: String?, detaches: Bool) throws {
        guard pcap == "-" else { return }
        if journal == "-" { throw ValidationError("--journal - and --pcap - are one output: name a file for one") }
        if detaches {
            throw ValidationError("--pcap - is standard output, which --detach leaves: write --pcap FILE")
        }
    }

    /// Checks all outputs of the command that are open while it runs, before one is made.
    func check(reading inputs: InputFiles, beside journal: String?, keyLog: String?) throws(CommandFailure) {
        for (what, path) in [("the journal", journal), ("the key log", keyLog), ("the capture", pcap)] {
            try inputs.check(writing: what, to: path)
        }
    }

    /// Opens the file, if one is asked for, for the proxies of these names; for all if there are none.
    func opened(
        _ limits: CaptureLimitOptions,
        noting inputs: InputFiles,
        of proxies: [String] = []
    ) throws(CommandFailure) -> CaptureFile? {
        guard let pcap else { return nil }
        var settings = limits.settings(of: pcap)
        if !proxies.isEmpty { settings.proxies = Set(proxies) }
        return try CaptureFile(settings, noting: inputs)
    }
}
