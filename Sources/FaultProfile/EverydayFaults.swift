import Units

/// A time without a network, and what clients see of it.
public struct EverydayOutage: Hashable, Sendable {
    /// The time, on the proxy's clock.
    public var window: ClockWindow
    /// What a client sees.
    public var how: Outage.Mode

    package init(_ window: ClockWindow, how: Outage.Mode = .silence) {
        self.window = window
        self.how = how
    }

    /// Reads an interval as `ClockWindow` does, perhaps with what a client sees after it: "10 s..15 s=refuse".
    ///
    /// Throws for anything else.
    public init(parsing text: String) throws(UnitError) {
        guard let sign = text.lastIndex(of: "=") else {
            self.init(try ClockWindow(parsing: text))
            return
        }
        let word = String(text[text.index(after: sign)...])
        guard let how = Outage.Mode(rawValue: word) else {
            let words = Outage.Mode.allCases.map(\.rawValue)
            throw UnitError(
                problem: "\(word.quoted) is not what a client sees of an outage",
                remedy: ForeignWords.remedy(forValue: word, of: "how", among: words)
            )
        }
        self.init(try ClockWindow(parsing: String(text[..<sign])), how: how)
    }

    /// The outage as people write it: "10 s..15 s", "10 s..15 s=refuse". `EverydayOutage(parsing:)` reads it back.
    public var text: String { how == .silence ? window.text : "\(window.text)=\(how.rawValue)" }
}

/// The everyday faults, each as one value, as the options of `squall run` give them.
public struct EverydayFaults: Hashable, Sendable {
    /// The delay in each direction, and the largest deviation from it.
    public var latency: DurationSpread?
    /// The rate from the server to the clients, which the connections of a proxy share. Above zero.
    public var down: BitRate?
    /// The rate from the clients to the server, likewise.
    public var up: BitRate?
    /// The share of lost segments. Below one.
    public var loss: Probability?
    /// The offsets at which connections are reset: a single one holds for every connection; of several, each connection
    /// takes the next, and later ones none. At most `ProfileLimits.cutOffsets`.
    public var cuts: [ByteCount]
    /// The times without a network, on the proxy's clock.
    public var outages: [EverydayOutage]

    /// The round trip of a path with loss and without latency: 50 ms.
    public static let defaultRoundTrip = Duration.milliseconds(50)

    /// Makes a set of faults; the rules are stated at the properties.
    public init(
        latency: DurationSpread? = nil,
        down: BitRate? = nil,
        up: BitRate? = nil,
        loss: Probability? = nil,
        cuts: [ByteCount] = [],
        outages: [EverydayOutage] = []
    ) {
        self.latency = latency
        self.down = down
        self.up = up
        self.loss = loss
        self.cuts = cuts
        self.outages = outages
    }

    /// Whether there is no fault.
    public var isEmpty: Bool { self == EverydayFaults() }

    /// The faults in the words of the options: "latency 200 ms ± 50 ms, loss 1 %"; shortened if there are many.
    public var text: String {
        var words: [String] = []
        if let latency { words.append("latency \(latency.text)") }
        if let down { words.append("down \(down.text)") }
        if let up { words.append("up \(up.text)") }
        if let loss { words.append("loss \(loss.text)") }
        words += cuts.map { "cut at \($0.text)" }
        words += outages.map { "outage \($0.text)" }
        return words.joined(separator: ", ").shortened(to: ProfileLimits.textLength - 1)
    }

    /// A profile of these faults alone, called “options”.
    public var profile: Profile { Profile(name: "options", summary: text, faults: faults(besides: [])) }

    /// `profile` with these faults added: to those that are always on, of every proxy.
    public func added(to profile: Profile) -> Profile {
        let added = faults(besides: Set(profile.allFaults.map(\.name)))
        var result = profile
        result.faults += added
        for index in result.proxies.indices { result.proxies[index].profile?.faults += added }
        return result
    }

    /// The faults. A name is that of the option, with a number if it is among `taken`.
    private func faults(besides taken: Set<String>) -> [Fault] {
        var taken = taken
        var faults: [Fault] = []
        func add(
            _ name: String,
            _ kind: FaultKind,
            stream: StreamSelection = .both,
            when condition: Condition = Condition()
        ) {
            var number = 1
            var unique = name
            while !taken.insert(unique).inserted {
                number += 1
                unique = "\(name)-\(number)"
            }
            faults.append(Fault(name: unique, stream: stream, condition: condition, kind: kind))
        }
        if let latency {
            add("latency", .latency(Latency(delay: latency.middle, jitter: latency.deviation ?? .zero)))
        }
        if let down { add("down", .bandwidth(Bandwidth(rate: down, scope: .proxy)), stream: .downstream) }
        if let up { add("up", .bandwidth(Bandwidth(rate: up, scope: .proxy)), stream: .upstream) }
        if let loss { add("loss", .loss(Loss(rate: loss, roundTrip: roundTrip))) }
        if let first = cuts.first {
            add("cut", .cut(Cut(position: cuts.count == 1 ? .at(first) : .inTurn(cuts), how: .reset)))
        }
        for outage in outages {
            add("outage", .outage(Outage(how: outage.how)), when: Condition(clock: outage.window))
        }
        return faults
    }

    /// The round trip of the path with loss: twice the latency, a day at most.
    private var roundTrip: Duration {
        guard let delay = latency?.middle, delay > .zero else { return EverydayFaults.defaultRoundTrip }
        return min(delay * 2, ProfileLimits.roundTrip)
    }
}
