import ArgumentParser
import FaultProfile
import ProfileFiles
import Units

/// Leads words that aren't subcommands, such as those of other tools, to the right command line.
enum CommandWords {
    /// Throws an answer to a first argument that is no subcommand; options and subcommands pass.
    static func check(_ arguments: [String]) throws(ValidationError) {
        let (command, names, rest) = Squall.named(by: arguments)
        let subcommands = command.configuration.subcommands
        guard let word = rest.first, !word.hasPrefix("-"), word != "help", !subcommands.isEmpty,
            command.configuration.defaultSubcommand == nil
        else { return }
        let listed = subcommands.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName }
        guard !names.isEmpty else {
            throw ValidationError("There is no command \(word.quoted). \(answer(to: word, among: listed))")
        }
        let name = names.joined(separator: " ")
        let known = subcommands.flatMap { [$0.configuration.commandName ?? ""] + $0.configuration.aliases }
        let near = Spelling.nearest(to: word, among: known).first.map { "Did you mean “squall \(name) \($0)”?" }
        let all = "The commands of “squall \(name)” are \(listed.joined(separator: ", "))."
        throw ValidationError("There is no command \("\(name) \(word)".quoted). \(near ?? all)")
    }

    private static func answer(to word: String, among commands: [String]) -> String {
        let plain = ForeignWords.plain(word)
        if let entry = table.first(where: { $0.words.split(separator: " ").contains { $0 == plain } }) {
            return entry.answer
        }
        if let near = Spelling.nearest(to: word, among: commands).first { return "Did you mean “squall \(near)”?" }
        if word.contains("://") { return "“squall get \(word.shortened(to: 200))” downloads it." }
        if case .path = ProfileReference(word, in: "") {
            return "“squall check \(word.shortened(to: 200))” checks a profile, and \(run) runs it."
        }
        if (ProfileLibrary.ownProfiles + ProfileLibrary.presets).contains(word) {
            return "It is a profile: “squall demo \(word)” shows it, and \(run) runs it."
        }
        if FaultKind.Name(rawValue: word) != nil || ForeignWords.remedy(forKind: word) != nil {
            return "Faults are in profiles: \(run) runs one, and “squall profiles” lists those that are shipped."
        }
        return "The commands are \(commands.joined(separator: ", "))."
    }

    private static let run = "“squall run PROFILE --listen HOST:PORT --upstream HOST:PORT”"

    /// Words, plain as `ForeignWords.plain` makes them, and the answers to them.
    static let table: [(words: String, answer: String)] = [
        ("start up launch proxy listen forward tunnel inject", "\(run) runs a profile."),
        (
            "server daemon api service toxiproxy toxiproxyserver control admin",
            "“squall serve” is the control server, and “squall origin FOLDER” serves files."
        ),
        (
            "list ls names presets scenarios",
            "“squall profiles” lists the shipped profiles, and “squall ctl list” the proxies of a running “squall serve”."
        ),
        (
            "toxic toxics",
            "“squall ctl toxic add -t latency -a latency=100 PROXY” adds one to a proxy of a running “squall serve”."
        ),
        (
            "create inspect toggle delete remove update populate reset apply fault connections snapshot cli",
            "“squall ctl” changes a running “squall serve”; see “squall help ctl”."
        ),
        (
            "stop kill quit down disable enable",
            "Ctrl-C ends “squall run”, and “kill” with its process id one of --detach; “squall ctl down PROXY” and “squall ctl up PROXY” switch a proxy off and on."
        ),
        ("validate lint verify checks parse", "“squall check PROFILE” names every problem of a profile."),
        ("download fetch curl wget pull", "“squall get URL” downloads a file."),
        ("upload send push", "“squall put FILE URL” uploads a file."),
        ("background schedule enqueue jobs later", "“squall queue submit URL” downloads a file in the background."),
        (
            "preview simulate forecast predict draw graph timeline dryrun estimate show view",
            "“squall plan PROFILE” draws what a profile does."
        ),
        ("http static fileserver webserver files", "“squall origin FOLDER” serves files."),
        (
            "wrap execute proxychains torsocks tsocks intercept",
            "“squall exec PROFILE -- COMMAND” runs a program with every connection that it opens behind a profile."
        ),
        ("udp quic http3 datagrams", "\(ForeignWords.withoutDatagrams)."),
        (
            "capture pcap tcpdump sniff",
            "“squall run --pcap FILE” writes every packet, and --journal FILE the faults that act."
        ),
        (
            "tls https mitm decrypt",
            "TLS passes through a proxy as it is, and with tls: in front of an address it is spoken: \(run) runs one."
        ),
        (
            "ca cert certs certificate certificates mkcert openssl",
            "“squall authority create FILE --for NAME” makes an authority for “squall run --authority FILE”."
        ),
        (
            "stage chaos ci",
            "“squall test --profile PROFILE --upstream HOST:PORT -- COMMAND” runs a command."
        ),
        ("diff compare sort journals", "“squall journal --sort --no-times JOURNAL” prints a journal for diff."),
        ("minimize reduce bisect", "“squall shrink JOURNAL --upstream HOST:PORT -- COMMAND” finds the fewest faults."),
        (
            "rerun repeat again reproduce record",
            "“squall run --journal FILE” records, and “squall replay FILE” repeats."
        ),
        (
            "init new generate template example",
            "“squall profiles slow-3g” prints a profile to start from; “squall profiles” lists all."
        ),
        ("version", "“squall --version” prints it."),
        (
            "completion completions autocomplete",
            "“squall --generate-completion-script bash” writes a script for bash; zsh and fish go likewise."
        ),
        (
            "man manual usage docs",
            "“squall help COMMAND” describes a command, and “man squall” the whole after an installation."
        ),
    ]
}
