import ArgumentParser
import FaultProfile
import ProfileFiles
import TerminalDisplay
import Units

/// The everyday faults as options.
package struct FaultOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Delay each direction by this, with a jitter after ± or +-: 200ms or 200ms±50ms.",
            valueName: "duration"
        ),
        transform: ArgumentReading.spread
    )
    var latency: DurationSpread?

    @Option(
        help: ArgumentHelp("The rate to the clients, which all connections share: 5Mbit/s.", valueName: "rate"),
        transform: ArgumentReading.rate
    )
    var down: BitRate?

    @Option(
        help: ArgumentHelp("The rate from the clients, which all connections share: 1Mbit/s.", valueName: "rate"),
        transform: ArgumentReading.rate
    )
    var up: BitRate?

    @Option(
        help: ArgumentHelp(
            "Lose this share of packets: 1%. What it costs is computed for a round trip of twice --latency, or of 50 ms "
                + "without it.",
            valueName: "chance"
        ),
        transform: ArgumentReading.chance
    )
    var loss: Probability?

    @Option(
        help: ArgumentHelp(
            "Reset each connection once a direction has carried this many bytes, as 1MiB. Given several times, each "
                + "connection takes the next offset, and later ones none.",
            valueName: "offset"
        ),
        transform: ArgumentReading.size
    )
    var cutAt: [ByteCount] = []

    @Option(
        help: ArgumentHelp(
            "Take the network away from 10 s to 15 s after the start: 10s..15s; 10s alone is from then on. With =refuse "
                + "or =reset behind it, in place of =silence, connections are refused or reset. Can be given several "
                + "times.",
            valueName: "times"
        ),
        transform: ArgumentReading.outage
    )
    var outage: [EverydayOutage] = []

    @Flag(help: "Print the profile that the profile and the options amount to, and exit.")
    package var printProfile = false

    package init() {}

    package func validate() throws {
        if loss == .always { throw ValidationError("--loss is below 100%: give --outage for no network at all") }
        guard cutAt.count <= ProfileLimits.cutOffsets else {
            throw ValidationError("--cut-at is given at most \(ProfileLimits.cutOffsets) times")
        }
    }

    /// The faults of the options.
    package var faults: EverydayFaults {
        EverydayFaults(latency: latency, down: down, up: up, loss: loss, cuts: cutAt, outages: outage)
    }

    /// The arguments that give these faults again, without spaces and in ASCII.
    package var arguments: [String] {
        var arguments: [String] = []
        func add(_ option: String, _ text: String?) {
            guard let text else { return }
            arguments += [option, text.filter { $0 != " " }.replacing("±", with: "+-")]
        }
        add("--latency", latency?.text)
        add("--down", down?.text)
        add("--up", up?.text)
        add("--loss", loss?.text)
        for offset in cutAt { add("--cut-at", offset.text) }
        for outage in outage { add("--outage", outage.text) }
        return arguments
    }

    /// The profile called `reference` with these faults, or these faults alone.
    package func chosen(_ reference: String?) -> ChosenProfile { ChosenProfile(reference: reference, faults: faults) }

    /// Throws a usage error if there is neither a profile nor a fault.
    package func check(_ reference: String?) throws {
        guard reference == nil, faults.isEmpty else { return }
        throw ValidationError(
            """
            there is no fault to inject: name a profile, such as wifi-roam (squall profiles lists them), or give a \
            fault, such as --latency 200ms
            """
        )
    }

    /// Prints a profile as JSON, with the seed of the command line if that gives one.
    package func write(_ profile: Profile, seed: UInt64?) {
        var profile = profile
        profile.seed = seed ?? profile.seed
        Console.print(file: String(ProfileWriter.text(of: profile).dropLast()))
    }
}
