import FaultProfile
import Units

/// Leads other words to the keys of a scenario and of its proxies.
enum ScenarioWords {
    /// The remedy for a key that isn't among the `known` ones.
    static func remedy(for key: String, of known: [String]) -> String {
        let plain = ForeignWords.plain(key)
        let ofScenario = known.contains("command")
        let table = ofScenario ? ofScenarios : ofProxies
        if let remedy = table.first(where: { $0.words.split(separator: " ").contains { $0 == plain } })?.remedy {
            return remedy
        }
        if let near = Spelling.nearest(to: key, among: known).first { return "did you mean “\(near)”?" }
        return "its keys are \(known.joined(separator: ", "))"
    }

    private static let ofScenarios = [
        (words: "cmd run exec script test program", remedy: "write “\"command\": [ \"program\", \"argument\" ]”"),
        (words: "timeout limit deadline maxtime duration", remedy: "write “\"time-limit\": \"60 s\"”"),
        (words: "parallel concurrency workers threads", remedy: "write “jobs”"),
        (
            words: "expectations assert asserts assertions check checks conditions",
            remedy: "write “\"expect\": [ \"exit == 0\" ]”"
        ),
        (words: "runs repeat repetitions iterations", remedy: "write “\"seeds\": \"1..5\"”"),
        (words: "proxy server servers services", remedy: "write “\"proxies\": [ { \"name\": …, \"upstream\": … } ]”"),
        (words: "upstream listen target backend", remedy: "move it into one of the “proxies”"),
        (
            words: "faults toxics toxic phases profile",
            remedy: "write “\"profiles\": [ … ]”, with names, paths or whole profiles in it"
        ),
        (words: "title description summary", remedy: "write “name”"),
    ]

    private static let ofProxies = [
        (words: "target backend server remote destination forward to", remedy: "write “upstream”"),
        (words: "bind address port", remedy: "delete it: each run has a free port, which {proxy} names"),
        (
            words: "faults toxics toxic phases profiles",
            remedy: "write “\"profile\": { \"name\": …, \"faults\": [ … ] }”"
        ),
        (words: "enabled", remedy: "delete it: every proxy of a scenario runs"),
    ]
}
