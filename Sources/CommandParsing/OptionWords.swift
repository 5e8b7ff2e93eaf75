import ArgumentParser
import FaultProfile
import Units

/// Leads options that a command doesn't have, such as those of other tools, to those that it has.
enum OptionWords {
    /// The message about a command line with an option of the table, with what to write in place of it; `nil` if there is
    /// none. Such an option is the cause, even if the parser complains about what it makes of its value.
    ///
    /// - Parameter message: the parser's message, whose first line is replaced.
    static func answer(
        to message: String,
        for arguments: [String],
        of root: any ParsableCommand.Type
    ) -> String? {
        guard let command = arguments.first(where: { !$0.hasPrefix("-") }), message.hasPrefix("Error: ") else {
            return nil
        }
        let line = message.prefix { !$0.isNewline }
        let entries = table.filter { $0.isAbout(command) }
        for argument in arguments.prefix(while: { $0 != "--" }) where argument.hasPrefix("-") {
            let option = argument.prefix { $0 != "=" }
            guard let entry = entries.first(where: { $0.isNamed(option) }) else { continue }
            return "Error: Unknown option '\(option)': \(entry.answer)\(message[line.endIndex...])"
        }
        if !line.hasPrefix("Error: Unknown option"), let unknown = unknown(in: arguments, of: root) {
            return "Error: \(unknown)\(message[line.endIndex...])"
        }
        if let problem = valueProblem(line, arguments) { return "Error: \(problem)\(message[line.endIndex...])" }
        // The command of a command line without its mark.
        guard line.hasPrefix("Error: Unexpected argument"),
            message.contains("-- <command>") || message.contains("-- [<command>")
        else { return nil }
        return "\(line): a command and its arguments stand behind --\(message[line.endIndex...])"
    }

    /// What is wrong with a number: the parser takes one with a sign for an option, and knows no ranges.
    private static func valueProblem(_ line: Substring, _ arguments: [String]) -> String? {
        if line.hasSuffix(" is invalid for '--seed <seed>'") {
            return "\(line.dropFirst("Error: ".count)): write a whole number from 0 to \(UInt64.max)"
        }
        if line.hasPrefix("Error: Missing expected argument '<priority>'"), let last = arguments.last, Int(last) != nil
        {
            let rest = arguments.dropLast().joined(separator: " ")
            return "a negative priority stands behind --: squall \(rest) -- \(last)"
        }
        guard line.hasPrefix("Error: Missing value for '") else { return nil }
        for (option, value) in zip(arguments, arguments.dropFirst())
        where line.contains("'\(option) ") && value.hasPrefix("-") && value.dropFirst().first?.isNumber == true {
            return "\(value.quoted) is negative, which \(option) doesn't take"
        }
        return nil
    }

    /// The answer to the first option that a command doesn't have; `nil` if it has all. The parser checks values first, and
    /// complains of what they lack without the option that was meant.
    static func unknown(in arguments: [String], of root: any ParsableCommand.Type) -> String? {
        let command = root.named(by: arguments).type
        guard command.configuration.subcommands.isEmpty else { return nil }
        let lines = root.helpMessage(for: command, includeHidden: true).split(separator: "\n")
        let known = lines.filter { $0.hasPrefix("  -") }
            .flatMap { $0.split { " ,/".contains($0) }.filter { $0.hasPrefix("--") }.map(String.init) }
        let options = arguments.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }
            .map { String($0.prefix { $0 != "=" }) }
        guard let option = options.first(where: { !known.contains($0) }) else { return nil }
        // Without the dashes, which make short words alike.
        let words = known.map { String($0.dropFirst(2)) }
        let near = Spelling.nearest(to: String(option.dropFirst(2)), among: words).first
        return "Unknown option '\(option)'" + (near.map { ". Did you mean '--\($0)'?" } ?? "")
    }

    /// Options that some commands don't have, and what to write in place of them.
    struct Entry: Sendable {
        /// The commands, separated by spaces.
        let commands: String
        /// The options as they are typed, separated by spaces.
        let options: String
        let answer: String

        init(_ commands: String, _ options: String, _ answer: String) {
            (self.commands, self.options, self.answer) = (commands, options, answer)
        }

        func isAbout(_ command: String) -> Bool { commands.split(separator: " ").contains { $0 == command } }
        func isNamed(_ word: Substring) -> Bool { options.split(separator: " ").contains { $0 == word } }
    }

    /// The first entry that is about a command and an option counts.
    static let table = proxies + faults + stages + servers + transfers + reports

    private static let proxies = [
        Entry(
            "run replay",
            "--port -p --bind --address --local --local-port -l --listen-address",
            "write --listen HOST:PORT"
        ),
        Entry(
            "run replay shrink test",
            "--target --backend --to --remote --server --forward --destination --dest -u",
            "write --upstream HOST:PORT"
        ),
        Entry(
            "shrink test",
            "--port -p --listen -l --bind",
            "delete it: each run has a free port, which {proxy} names"
        ),
        Entry(
            "run plan demo exec",
            "--profile --config --file -f -c",
            "write the profile as an argument, without an option"
        ),
        Entry(
            "exec",
            "--upstream --target --listen",
            "the command names its targets: --only TARGET chooses among them"
        ),
        Entry("run replay", "--log --log-file --output -o --record --events --json", "write --journal FILE"),
        Entry("run replay", "--verbose -v --debug", "write --journal -, which prints every fault"),
        Entry("run", "--reload --hot-reload --auto-reload", "write --watch"),
        Entry("run replay", "--workers --loops --jobs -j", "write --threads COUNT"),
        Entry("run replay serve origin", "--daemon --daemonize --background --bg", "write --detach"),
        Entry("run replay serve", "-d", "write --detach"),
        Entry(
            "run replay shrink test serve plan demo",
            "--udp --quic --http3 --datagrams --dtls --rebind --mtu",
            withoutDatagrams
        ),
        Entry("run exec serve", "--capture --tcpdump --dump", "write --pcap FILE"),
        Entry("test", "--capture --tcpdump --dump", "write --pcap FOLDER"),
        Entry(
            "replay shrink",
            "--pcap --capture --tcpdump --dump",
            "captures are made by squall run, exec, test and serve"
        ),
        Entry(
            "run",
            "--tls --https --ssl --mitm --cert",
            "write tls: in front of the address, as in --listen tls::8443 and --upstream tls:api.example.com:443"
        ),
        Entry(
            "replay shrink test",
            "--tls --https --ssl --mitm --cert",
            "write tls: in front of the address, as in --upstream tls:api.example.com:443"
        ),
        Entry(
            "run replay shrink test",
            "--insecure -k",
            "delete it: the upstream is always verified, and --ca-file names its authority"
        ),
        Entry(
            "serve",
            "--tls --https --ssl --cert",
            "write --api-cert FILE and --api-key FILE for the API, and tls: in front of a proxy's address"
        ),
        Entry("run replay shrink test", "--max-connections --connections", "write --connection-limit COUNT"),
        Entry("run replay shrink test", "--memory --buffer --buffer-size", "write --link-memory SIZE"),
        Entry("run plan demo test", "--random-seed --rng", "write --seed NUMBER"),
    ]

    private static let withoutDatagrams = "delete it: \(ForeignWords.withoutDatagrams)"

    private static let faults = [
        Entry("run exec plan demo", "--delay --lag --ping --rtt", "write --latency 200ms"),
        Entry("run exec plan demo", "--jitter --variation", "write --latency 200ms±50ms"),
        Entry(
            "run exec plan demo",
            "--bandwidth --rate --throttle --speed --limit --limit-rate --bw",
            "write --down 5Mbit/s, --up 1Mbit/s or both"
        ),
        Entry("run exec plan demo", "--download --downlink --downstream", "write --down 5Mbit/s"),
        Entry("run exec plan demo", "--upload --uplink", "write --up 1Mbit/s"),
        Entry("run exec plan demo", "--packet-loss --drop --plr", "write --loss 1%"),
        Entry("run exec plan demo", "--cut --reset --rst --reset-peer --limit-data", "write --cut-at 1MiB"),
        Entry("run exec plan demo", "--offline --down-for --blackhole --partition", "write --outage 10s..15s"),
    ]

    private static let stages = [
        Entry(
            "test",
            "--scenario --config --file -f -c",
            "write the scenario's file as an argument, without an option"
        ),
        Entry("test", "--timeout --max-time --deadline", "write --time-limit DURATION"),
        Entry("test", "--parallel --workers --concurrency -j", "write --jobs COUNT"),
        Entry("test", "--runs --repeat --repetitions --seeds", "write --seed 1..5"),
        Entry("test", "--assert --assertion --check", "write --expect 'exit == 0'"),
        Entry("test", "--report --junit-xml --xml", "write --junit FILE"),
        Entry("test", "--profiles", "write --profile NAME, once for each"),
        Entry("test", "--command --cmd", "write the command behind --"),
        Entry("test", "--verbose -v --debug", "write --show-output"),
        Entry("shrink", "--attempts --tries --repeat", "write --runs COUNT"),
        Entry("shrink", "--timeout --time-limit", "write --patience DURATION"),
    ]

    private static let servers = [
        Entry("serve origin", "--listen --bind --address -l", "write --host HOST and --port PORT"),
        Entry("serve origin", "-p --listen-port --api-port", "write --port PORT"),
        Entry("serve", "--exec", "squall exec has a page for the network of a command: squall help exec"),
        Entry("serve", "--file -c -f --populate", "write --config FILE"),
        Entry("serve", "--profile --watch", "write --profiles FOLDER"),
        Entry("serve", "--token --auth --password", "write --token-file FILE"),
        Entry("origin", "--directory --dir --root --folder -d", "write the folder as an argument, without an option"),
        Entry("origin", "--upload --put --writable", "write --uploads FOLDER"),
        Entry("origin", "--tls --https --ssl", "write --tls-self-signed, or --tls-cert FILE and --tls-key FILE"),
        Entry("origin", "--cert --certificate", "write --tls-cert FILE"),
        Entry("origin", "--key", "write --tls-key FILE"),
    ]

    private static let transfers = [
        Entry("get", "-O --out --save --file", "write --output FILE"),
        Entry("get", "--checksum --hash --digest --sha --sha-256", "write --sha256 DIGEST"),
        Entry("get put", "--retry --retries --tries -t", "write --attempts COUNT"),
        Entry("get put", "--rate --limit --bandwidth --max-rate --bwlimit", "write --limit-rate RATE"),
        Entry("get put", "--resume --continue -c -C", "delete it: the same command goes on where it was interrupted"),
        Entry("get put", "--username --login", "write --user NAME"),
        Entry("get put", "--password", "write --password-file FILE"),
        Entry("get put", "--headers", "write --header 'NAME: VALUE'"),
        Entry("get put", "-k --insecure --cacert --ca", "write --ca-file FILE"),
        Entry("get put", "--cert -E", "write --client-cert FILE and --client-key FILE"),
        Entry("get put", "-x --http-proxy", "write --proxy URL"),
        Entry("put", "-X --request", "write --method METHOD"),
        Entry("get put demo plan", "--json", "write --events json"),
    ]

    private static let reports = [
        Entry("check", "--json --sarif --github --output --output-format -o", "write --format json, github or sarif"),
        Entry("plan demo", "--bytes --length --file-size", "write --size SIZE"),
        Entry("plan", "--output -o --image --draw --picture", "write --svg FILE or --png FILE"),
        Entry("plan", "--time --duration --for", "write --until DURATION"),
        Entry("demo", "--browser --web --ui --open", "write --page"),
        Entry("demo", "--output -o --folder", "write --keep FOLDER"),
        Entry("profiles", "--filter --search --name --list -l -n", "write the word as an argument: squall profiles 3g"),
    ]
}

extension ParsableCommand {
    /// The subcommand that the first arguments name, with its name; the command itself if they name none. `rest` are those
    /// behind them.
    package static func named(
        by arguments: [String]
    ) -> (type: any ParsableCommand.Type, name: [String], rest: ArraySlice<String>) {
        var command: any ParsableCommand.Type = self
        var rest = arguments[...]
        while let word = rest.first, let next = command.configuration.subcommands.first(where: { $0.isCalled(word) }) {
            command = next
            rest.removeFirst()
        }
        return (command, Array(arguments.prefix(upTo: rest.startIndex)), rest)
    }

    private static func isCalled(_ word: String) -> Bool {
        configuration.commandName == word || configuration.aliases.contains(word)
    }
}
