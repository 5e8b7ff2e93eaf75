import ChaosStage
import EventLoop
import FoundationEssentials
import ProxyEngine

/// What a command of `squall test` is told of its run: environment variables, and words in braces in its arguments.
package struct StageEnvironment {
    /// A proxy as the command sees it.
    struct Entry {
        let name: String
        let address: String
        let host: String
        let port: String
        let url: String
    }

    let entries: [Entry]
    let seed: UInt64
    let profile: String
    let folder: String
    /// What has the command trust the authority of its proxies.
    private let trust: [String: String]

    init(
        _ proxies: [(Scenario.Proxy, SocketAddress)],
        seed: UInt64,
        profile: String,
        folder: String,
        trust: [String: String]
    ) {
        (self.seed, self.profile, self.folder, self.trust) = (seed, profile, folder, trust)
        entries = proxies.map { proxy, address in
            // The path of a Unix-domain socket is its address, and it has neither host nor port.
            let path = address.unix?.text
            // BoringSSL knows no constraints of addresses.
            let name = proxy.listening == .tls ? "localhost" : nil
            let (host, port) = path == nil ? (name ?? address.host, "\(address.port)") : ("", "")
            let text = path ?? name.map { "\($0):\(port)" } ?? "\(address)"
            let url = proxy.url.replacing("{address}", with: text).replacing("{host}", with: host)
                .replacing("{port}", with: port)
            return Entry(name: proxy.name, address: text, host: host, port: port, url: url)
        }
    }

    /// The beginning of a proxy's variables: “SQUALL_DB” for “db”. Other characters than letters and digits become “_”.
    package static func variable(of name: String) -> String {
        let letters = name.uppercased().unicodeScalars.map { scalar in
            scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) ? Character(scalar) : "_"
        }
        return "SQUALL_\(String(letters))"
    }

    /// The environment of the command.
    var variables: [String: String] {
        var variables = ProcessInfo.processInfo.environment.merging(trust) { $1 }
        for entry in entries {
            let name = StageEnvironment.variable(of: entry.name)
            variables["\(name)_ADDRESS"] = entry.address
            variables["\(name)_HOST"] = entry.host
            variables["\(name)_PORT"] = entry.port
            variables["\(name)_URL"] = entry.url
        }
        variables["SQUALL_SEED"] = "\(seed)"
        variables["SQUALL_PROFILE"] = profile
        variables["SQUALL_FOLDER"] = folder
        return variables
    }

    /// A text with the words in braces replaced.
    func filled(_ text: String) -> String {
        let words = entries.flatMap { entry in
            [
                (entry.name, entry.address), ("\(entry.name).host", entry.host), ("\(entry.name).port", entry.port),
                ("\(entry.name).url", entry.url),
            ]
        }
        return text.filled(words + [("seed", "\(seed)"), ("folder", folder)])
    }
}

extension String {
    /// This text with other texts for words in braces, the first of equal words. Other words stay, and so does `${word}`, a
    /// variable of a shell.
    func filled(_ words: [(word: String, text: String)]) -> String {
        var (result, rest) = ("", self[...])
        while let brace = rest.firstIndex(of: "{") {
            let isVariable = brace > startIndex && self[index(before: brace)] == "$"
            result += rest[..<brace]
            rest = rest[brace...]
            if !isVariable, let (word, text) = words.first(where: { rest.hasPrefix("{\($0.word)}") }) {
                result += text
                rest = rest.dropFirst(word.count + 2)
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result + rest
    }
}
