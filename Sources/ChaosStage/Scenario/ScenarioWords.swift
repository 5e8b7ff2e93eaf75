import FaultProfile

/// Leads other words to the keys of a scenario and of its proxies.
enum ScenarioWords {
    private typealias Entry = ForeignWords.Entry

    static let ofScenarios = [
        Entry("cmd run script test program", "write “\"command\": [ \"program\", \"argument\" ]”"),
        Entry("timeout limit deadline maxtime duration", "write “\"time-limit\": \"60 s\"”"),
        Entry("parallel concurrency workers threads", "write “jobs”"),
        Entry(
            "expectations assert asserts assertions check checks conditions",
            "write “\"expect\": [ \"exit == 0\" ]”"
        ),
        Entry("runs repeat repetitions iterations", "write “\"seeds\": \"1..5\"”"),
        Entry("supervise supervised unchanged everything", "write “\"exec\": true”"),
        Entry("proxy server servers services", "write “\"proxies\": [ { \"name\": …, \"upstream\": … } ]”"),
        Entry("upstream listen target backend", "move it into one of the “proxies”"),
        Entry(
            "faults toxics toxic phases profile",
            "write “\"profiles\": [ … ]”, with names, paths or whole profiles in it"
        ),
        Entry("title description summary", "write “name”"),
    ]

    static let ofProxies = [
        Entry("target backend server remote destination forward to", "write “upstream”"),
        Entry("bind address port", "delete it: each run has a free port, which {proxy} names"),
        Entry("faults toxics toxic phases profiles", "write “\"profile\": { \"name\": …, \"faults\": [ … ] }”"),
        Entry("enabled", "delete it: every proxy of a scenario runs"),
    ]
}
