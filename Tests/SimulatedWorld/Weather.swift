import FaultProfile

/// The faults of a world, as a profile, and what may be expected of connections under them.
struct Weather {
    var faults: [String] = []
    var phases: [String] = []
    /// Whether a fault may end a connection, or never begin it.
    var endsConnections = false
    /// Whether a fault changes or swallows bytes, or answers in the server's place.
    var changesBytes = false
    /// Whether a fault may hide from the proxy that an end has gone.
    var mayHold = false
    /// The bytes after which the only fault cuts one direction.
    var cut: (isDownstream: Bool, offset: Int, isReset: Bool)?

    /// Draws faults that take the place of these while connections live: some stay, some go, some come.
    func changed(_ dice: inout Dice, isHTTP: Bool) -> Weather {
        var next = self
        next.cut = nil
        next.faults = Weather.withoutDangling(faults.filter { _ in !dice.once(in: 2) })
        if dice.once(in: 2) { next.phases = [] }
        for _ in 0..<dice.number(0...2) { next.add(&dice, isHTTP: isHTTP) }
        return next
    }

    /// The profile's JSON.
    var profile: String {
        let phases = phases.isEmpty ? "" : ", \"phases\": [\(phases.joined(separator: ", "))]"
        return "{ \"name\": \"simulated\", \"faults\": [\(faults.joined(separator: ", "))]\(phases) }"
    }

    /// The profile.
    func read() throws -> Profile {
        try ProfileReader.profile(from: ProfileSource(file: "simulated.json", text: profile)) { _ in
            .success(Weather.trace)
        }
    }

    /// Draws the faults of a world.
    static func draw(_ dice: inout Dice, isHTTP: Bool) -> Weather {
        var weather = Weather()
        switch dice.number(0...9) {
        case 0: break
        case 1: weather.addExactCut(&dice)
        default: for _ in 0..<dice.number(1...3) { weather.add(&dice, isHTTP: isHTTP) }
        }
        return weather
    }

    static func stream(_ dice: inout Dice) -> String {
        dice.pick(["", ", \"stream\": \"upstream\"", ", \"stream\": \"downstream\""])
    }

    private static func condition(_ dice: inout Dice) -> String {
        dice.pick([
            "", "", "", ", \"when\": { \"connection\": 1 }", ", \"when\": { \"chance\": \"50 %\" }",
            ", \"when\": { \"age\": \"5 ms..\" }", ", \"when\": { \"connection\": { \"every\": 2 } }",
        ])
    }

    private mutating func add(_ kind: String, _ dice: inout Dice, direction: Bool = true) {
        let stream = direction ? Weather.stream(&dice) : ""
        faults.append("{ \(kind)\(stream)\(Weather.condition(&dice)) }")
    }

    private mutating func addExactCut(_ dice: inout Dice) {
        let offset = dice.spread(0...200_000)
        let (isDownstream, isReset) = (dice.once(in: 2), dice.once(in: 2))
        let stream = isDownstream ? "downstream" : "upstream"
        let how = isReset ? "reset" : "close"
        faults.append("{ \"kind\": \"cut\", \"stream\": \"\(stream)\", \"at\": \"\(offset) B\", \"how\": \"\(how)\" }")
        cut = (isDownstream, offset, isReset)
        endsConnections = true
    }

    /// An offset or a count of bytes: within the conversation mostly, or at the end of what a profile can write.
    static func bytes(_ dice: inout Dice, _ range: ClosedRange<Int>) -> Int {
        if dice.once(in: 8) { return dice.pick([.max, .max - 1, .max / 2 + 1]) }
        return dice.spread(range)
    }

    private mutating func add(_ dice: inout Dice, isHTTP: Bool) {
        let offset = Weather.bytes(&dice, 0...100_000)
        switch dice.number(0...(isHTTP ? 24 : 16)) {
        case 0, 1: add("\"kind\": \"latency\", \"delay\": \"\(dice.number(0...40)) ms\", \"jitter\": \"0 ms\"", &dice)
        case 2: add("\"kind\": \"latency\", \"delay\": \"20 ms\", \"jitter\": \"\(dice.number(0...20)) ms\"", &dice)
        case 3: add("\"kind\": \"bandwidth\", \"rate\": \"\(dice.spread(100...100_000)) KB/s\"", &dice)
        case 4: add("\"kind\": \"bandwidth\", \"rate\": \"\(dice.spread(100...10_000)) KB/s\", \"shared\": true", &dice)
        case 5:
            add(
                "\"kind\": \"slice\", \"size\": \"\(dice.spread(100...20_000)) B\", \"pause\": \"\(dice.number(0...2)) ms\"",
                &dice
            )
        case 6: add("\"kind\": \"stall\", \"at\": \"\(offset) B\", \"for\": \"\(dice.number(1...500)) ms\"", &dice)
        case 7: add("\"kind\": \"slow-close\", \"by\": \"\(dice.number(1...500)) ms\"", &dice)
        case 8: add("\"kind\": \"slow-reader\", \"rate\": \"\(dice.spread(100...10_000)) KB/s\"", &dice)
        case 9: add("\"kind\": \"loss\", \"rate\": \"\(dice.number(1...5)) %\", \"rtt\": \"20 ms\"", &dice)
        case 10: addCut(offset, &dice)
        case 11: addOutage(&dice)
        case 12:
            endsConnections = true
            mayHold = true
            let how = dice.pick(["\"refuse\"", "\"hang\"", "\"delay\", \"for\": \"50 ms\""])
            faults.append("{ \"kind\": \"connect\", \"how\": \(how), \"when\": { \"connection\": { \"every\": 2 } } }")
        case 13:
            endsConnections = true
            let how = dice.pick(["refuse", "hang"])
            faults.append("{ \"kind\": \"connection-limit\", \"limit\": \(dice.number(1...3)), \"how\": \"\(how)\" }")
        case 14:
            (changesBytes, endsConnections) = (true, true)
            let removed = Weather.bytes(&dice, 1...500)
            let kind = dice.pick([
                "\"kind\": \"corrupt\"", "\"kind\": \"truncate\", \"bytes\": \"\(removed) B\"",
                "\"kind\": \"insert\", \"bytes\": \"<b>Buy!</b>\"",
            ])
            add("\(kind), \"at\": \"\(offset) B\"", &dice)
        case 15:
            (endsConnections, mayHold) = (true, true)
            let stream = dice.pick(["upstream", "downstream"])
            faults.append("{ \"kind\": \"half-open\", \"stream\": \"\(stream)\", \"at\": \"\(offset) B\" }")
        case 16:
            (changesBytes, endsConnections) = (true, true)
            let close = dice.once(in: 2) ? ", \"close-after\": \"\(dice.number(1...50)) ms\"" : ""
            add("\"kind\": \"discard\"\(close)", &dice)
        default: addHTTP(&dice)
        }
    }

    private mutating func addCut(_ offset: Int, _ dice: inout Dice) {
        endsConnections = true
        let how = dice.pick(["reset", "close", "silence"])
        if how == "silence" { mayHold = true }
        let place = dice.pick([
            "\"at\": \"\(offset) B\"", "\"between\": [\"0 B\", \"\(max(1, offset)) B\"]",
            "\"after\": \"\(dice.number(1...50)) ms\"",
            "\"idle\": \"\(dice.number(1...50)) ms\"", "\"limit\": \"\(offset) B\"",
            "\"traffic\": \"\(dice.number(0...50)) ms\"",
        ])
        faults.append("{ \"kind\": \"cut\", \(place), \"how\": \"\(how)\"\(Weather.condition(&dice)) }")
    }

    private mutating func addOutage(_ dice: inout Dice) {
        guard phases.isEmpty else { return }
        let how = dice.pick(["silence", "reset", "refuse"])
        if how != "silence" { endsConnections = true }
        let outage = "\"faults\": [ { \"kind\": \"outage\", \"how\": \"\(how)\" } ]"
        for round in 1...dice.number(1...3) {
            phases.append("{ \"name\": \"there \(round)\", \"for\": \"\(dice.number(1...40)) ms\" }")
            phases.append("{ \"name\": \"gone \(round)\", \"for\": \"\(dice.number(1...40)) ms\", \(outage) }")
        }
    }
}
