/// Translates command lines of Toxiproxy's programs, and flags in the form of Go, into those of `squall`.
///
/// Go's flags have one dash or two, and a value after `=` or a space.
package enum CommandTranslation {
    /// The result of a translation.
    package enum Result: Equatable {
        /// The arguments of `squall`.
        case arguments([String])
        /// A text to print, instead of running a command.
        case text(String)
    }

    /// The version that Toxiproxy's programs print.
    static let toxiproxyVersion = "2.12.0"

    /// Translates the arguments of a program of this name or path.
    package static func translate(program: String, _ arguments: [String]) -> Result {
        let name = program.split(separator: "/").last.map(String.init) ?? ""
        switch name {
        case "toxiproxy-server": return server(arguments, isToxiproxy: true)
        // The entry point of an image: the server with Toxiproxy's flags, or any command of squall.
        case "toxiproxy":
            let isServer = arguments.first?.hasPrefix("-") ?? true
            return translate(program: isServer ? "toxiproxy-server" : "squall", arguments)
        case "toxiproxy-cli":
            if ["--version", "-version", "-v"].contains(arguments.first) {
                return .text("toxiproxy-cli version \(toxiproxyVersion)")
            }
            return .arguments(control(arguments, isToxiproxy: true))
        default:
            let rest = Array(arguments.dropFirst())
            switch arguments.first {
            case "serve": return server(rest, isToxiproxy: false)
            case "ctl": return .arguments(control(rest, isToxiproxy: false))
            default: return .arguments(arguments)
            }
        }
    }

    /// A flag: its name, without dashes, and the value after `=`.
    private struct Flag {
        var name: String
        var value: String?

        /// `nil` for a word that is no flag.
        init?(_ word: String) {
            let dashes = word.prefix { $0 == "-" }.count
            guard dashes == 1 || dashes == 2, word.count > dashes else { return nil }
            let parts = word.dropFirst(dashes).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            name = String(parts[0])
            value = parts.count > 1 ? String(parts[1]) : nil
        }

        /// Whether a flag without a value of its own is on: Go's strconv.ParseBool.
        var isOn: Bool { value.map { ["1", "t", "T", "TRUE", "true", "True"].contains($0) } ?? true }
    }

    /// The flags of toxiproxy-server with a value.
    private static let serverValues: Set = ["host", "port", "config", "seed"]

    private static func server(_ arguments: [String], isToxiproxy: Bool) -> Result {
        var translated = isToxiproxy ? ["serve", "--starts-anyway"] : ["serve"]
        var rest = arguments[...]
        while let word = rest.popFirst() {
            guard let flag = Flag(word) else {
                translated.append(word)
                continue
            }
            switch flag.name {
            case let name where serverValues.contains(name):
                translated.append("--\(name)")
                guard var value = flag.value ?? rest.popFirst() else { break }
                // Toxiproxy's seed is signed.
                if name == "seed", let seed = Int64(value), seed < 0 { value = "\(UInt64(bitPattern: seed))" }
                translated[translated.count - 1] += "=\(value)"
            // The metrics are always there.
            case "proxy-metrics", "runtime-metrics": break
            case "version" where isToxiproxy:
                if flag.isOn { return .text("toxiproxy-server version \(toxiproxyVersion)") }
            case "help", "h": translated.append(isToxiproxy || flag.name == "help" ? "--help" : word)
            default: translated.append(word)
            }
        }
        return .arguments(translated)
    }

    /// The names of options with a value, by each of their spellings.
    private static let controlValues = [
        "host": "--host", "h": "--host", "listen": "--listen", "l": "--listen", "type": "--type", "t": "--type",
        "toxicName": "--toxicName", "n": "--toxicName", "toxicity": "--toxicity", "tox": "--toxicity",
        "attribute": "--attribute", "a": "--attribute", "token-file": "--token-file",
        "ca-file": "--ca-file", "for": "--for",
        "timeout": "--timeout", "proxy": "--proxy", "fault": "--fault", "baseline": "--baseline",
    ]
    /// The options without a value, by each of their spellings.
    private static let controlFlags = [
        "upstream": "--upstream", "u": "--upstream", "downstream": "--downstream", "d": "--downstream",
        "json": "--json", "reset": "--reset", "all": "--all", "follow": "--follow", "f": "--follow", "help": "--help",
    ]

    /// The commands that have `--upstream`: with a value for `create`, and without one for `toxic add`.
    private static let upstreamCommands = ["create": true, "c": true, "new": true, "toxic": false, "t": false]

    /// Moves the options before the command's name to the end, and spells all with two dashes.
    private static func control(_ arguments: [String], isToxiproxy: Bool) -> [String] {
        let takesAddress = arguments.lazy.compactMap { upstreamCommands[$0] }.first ?? false
        var options: [String] = []
        var words: [String] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if word == "--" {
                words += [word] + rest
                break
            }
            guard let flag = Flag(word) else {
                words.append(word)
                continue
            }
            let isAddress = takesAddress && ["upstream", "u"].contains(flag.name)
            if let name = isAddress ? "--upstream" : controlValues[flag.name] {
                var value = flag.value ?? rest.popFirst()
                // There a port alone is on every interface.
                if isToxiproxy, name == "--listen", let port = value, port.hasPrefix(":") { value = "[::]\(port)" }
                options.append(value.map { "\(name)=\($0)" } ?? name)
            } else if let name = controlFlags[flag.name] {
                if flag.isOn { options.append(name) }
            } else {
                options.append(word)
            }
        }
        if words.first == "help" { return ["help", "ctl"] + words.dropFirst() }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        return ["ctl"] + words[..<end] + options + words[end...]
    }
}
