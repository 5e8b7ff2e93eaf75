import ArgumentParser
import CommandParsing
import ProfileFiles
import SquallTransfer
import TerminalDisplay
import Units

/// The network options of a transfer, with the environment's proxies.
struct NetworkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Go through this HTTP proxy, http://[NAME[:PASSWORD]@]HOST[:PORT], in place of the environment's.",
            valueName: "url"
        )
    )
    var proxy: String?

    @Flag(help: "Ask servers directly, whatever http_proxy, https_proxy and all_proxy say.")
    var noProxy = false

    @Flag(help: "Wait while the machine has no route to the server, and count no attempts meanwhile.")
    var waitForNetwork = false

    @Option(
        help: ArgumentHelp(
            "The most bytes of the file a second, over all connections: “2 MB/s” or “20 Mbit/s”.",
            valueName: "rate"
        ),
        transform: ArgumentReading.rate
    )
    var limitRate: BitRate?

    func validate() throws {
        guard proxy == nil || !noProxy else { throw ValidationError("--proxy and --no-proxy exclude each other") }
    }

    /// Applies the options to a configuration.
    func apply(to configuration: inout TransferConfiguration) throws(CommandFailure) {
        configuration.maximumRate = limitRate.map { $0.bitsPerSecond / 8 }
        configuration.waitsForConnectivity = waitForNetwork
        if noProxy { return }
        guard let proxy else {
            configuration.proxies = .fromEnvironment()
            return
        }
        configuration.proxies = try CommandFailure.attempting("--proxy", code: .wrongInput) {
            try TransferProxies(checking: proxy)
        }
    }
}
