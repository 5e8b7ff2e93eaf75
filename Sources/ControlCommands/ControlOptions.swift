import ArgumentParser
import ControlService
import FoundationEssentials
import HTTPTransport
import TerminalDisplay

/// The options of every `squall ctl` command.
struct ControlOptions: ParsableArguments {
    @Option(
        name: [.long, .customShort("h")],
        help: ArgumentHelp(
            "The URL of the server. (default: TOXIPROXY_URL, or http://localhost:8474)",
            valueName: "url"
        )
    )
    var host: String?

    @Option(
        help: ArgumentHelp(
            "Send the bearer token in this file. (default: that in SQUALL_TOKEN, if set)",
            valueName: "file"
        ),
        completion: .file()
    )
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Trust the certificate authorities of this PEM file in place of the system's, for a server of https.",
            valueName: "file"
        ),
        completion: .file()
    )
    var caFile: String?

    @Flag(help: "Print the server's JSON.")
    var json = false

    /// A client of the server.
    func client() throws(CommandFailure) -> ControlClient {
        let variable = ProcessInfo.processInfo.environment["TOXIPROXY_URL"] ?? ""
        let url = try ControlURL(host ?? (variable.isEmpty ? ControlURL.usual : variable))
        guard url.isSecure || caFile == nil else {
            throw .wrongInput("--ca-file is for a server of https: write --host https://HOST:PORT")
        }
        var tls: (any ClientTLS)?
        if url.isSecure, let make = CtlCommand.tls.withLock({ $0 }) { tls = try make(caFile) }
        return ControlClient(url: url, token: try BearerToken.read(from: tokenFile), tls: tls)
    }

    /// Prints the JSON of a response with `--json`, else a sentence.
    func tell(_ response: ControlClient.Response, _ sentence: String) {
        if json { ControlOutput.show(response) } else { Console.print(sentence) }
    }
}
