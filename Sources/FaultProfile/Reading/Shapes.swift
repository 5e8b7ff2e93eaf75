import Units

/// What the value of a key must be. `Profiles/profile.schema.json` has a definition of the same name
/// for each, and a test that says so.
enum ValueForm: Hashable {
    case text
    case name
    case faultName
    case flag
    case seed
    case duration
    case positiveDuration
    case period
    case size
    case positiveSize
    case rate
    case chance
    case connections
    case connectionNumber
    case connectionCount
    case age
    case clients
    case duty
    case listenAddress
    case upstreamAddress
    case fileMode
    case cutOffsets
    case sizeRange
    case quantiles
    case spikes
    case tracePath
    case steps
    case wave
    case burstLength
    case bit
    case condition
    case httpCondition
    case token
    case textPattern
    case fieldPatterns
    case status
    case pattern
    case answer
    case answerStatus
    case answerBody
    case fields
    case informationalStatus
    case proxies
    case faults
    case phases
    /// One of the given words.
    case choice([String])
}

/// A key that an object may have.
struct KeyShape {
    let name: String
    let form: ValueForm
    let isRequired: Bool

    static func required(_ name: String, _ form: ValueForm) -> KeyShape {
        KeyShape(name: name, form: form, isRequired: true)
    }

    static func optional(_ name: String, _ form: ValueForm) -> KeyShape {
        KeyShape(name: name, form: form, isRequired: false)
    }
}

/// An object of a profile: the one table of its keys, for the reader, its messages, and the test that
/// compares it with the schema.
struct ObjectShape {
    /// What the object is, with its article.
    let title: String
    let keys: [KeyShape]

    /// Whether `word` is one of the keys, or was probably meant to be.
    func hasKey(near word: String) -> Bool {
        let names = keys.map(\.name)
        return names.contains(word) || !Spelling.nearest(to: word, among: names).isEmpty
    }

    static let profile = ObjectShape(
        title: "a profile",
        keys: [
            .optional("$schema", .text),
            .required("name", .name),
            .optional("summary", .text),
            .optional("source", .text),
            .optional("seed", .seed),
            .optional("extends", .text),
            .optional("proxies", .proxies),
            .optional("faults", .faults),
            .optional("phases", .phases),
            .optional("repeat", .flag),
        ]
    )

    static let proxy = ObjectShape(
        title: "a proxy",
        keys: [
            .required("name", .name),
            .required("listen", .listenAddress),
            .optional("mode", .fileMode),
            .required("upstream", .upstreamAddress),
        ]
    )

    static let phase = ObjectShape(
        title: "a phase",
        keys: [
            .required("name", .name),
            .optional("for", .period),
            .optional("jitter", .duration),
            .optional("faults", .faults),
        ]
    )

    static let condition = ObjectShape(
        title: "“when”",
        keys: [
            .optional("connection", .connections),
            .optional("chance", .chance),
            .optional("age", .age),
            .optional("client", .clients),
            .optional("clock", .age),
            .optional("duty", .duty),
            .optional("after", .faultName),
            .optional("http", .httpCondition),
        ]
    )

    static let duty = ObjectShape(
        title: "“duty”",
        keys: [
            .required("on", .period),
            .required("off", .period),
            .optional("offset", .duration),
        ]
    )

    static let connectionStep = step("connection")
    static let requestStep = step("request")

    private static func step(_ key: String) -> ObjectShape {
        ObjectShape(title: "“\(key)” as a step", keys: [.required("every", .connectionNumber)])
    }

    static let spikes = ObjectShape(
        title: "“spikes”",
        keys: [
            .required("every", .period),
            .required("for", .positiveDuration),
            .required("extra", .positiveDuration),
        ]
    )

    static let step = ObjectShape(
        title: "a step",
        keys: [.required("after", .positiveDuration), .required("rate", .rate)]
    )

    static let wave = ObjectShape(
        title: "“wave”",
        keys: [
            .required("low", .rate),
            .required("high", .rate),
            .required("period", .period),
        ]
    )

    /// A fault of a kind: the keys of every fault, then its own.
    static func fault(_ kind: FaultKind.Name) -> ObjectShape {
        ObjectShape(title: "\(kind.article) \(kind.rawValue) fault", keys: commonKeys(of: kind) + ownKeys(of: kind))
    }

    private static func commonKeys(of kind: FaultKind.Name) -> [KeyShape] {
        [
            .required("kind", .choice(FaultKind.Name.allCases.map(\.rawValue))),
            .optional("name", .faultName),
            kind == .halfOpen
                ? .required("stream", .choice(HalfOpen.streams.map(\.rawValue)))
                : .optional("stream", .choice(StreamSelection.allCases.map(\.rawValue))),
            .optional("when", .condition),
        ]
    }

    private static func ownKeys(of kind: FaultKind.Name) -> [KeyShape] {
        switch kind {
        case .latency: Latency.keys
        case .bandwidth: Bandwidth.keys
        case .cut: Cut.keys
        case .stall: Stall.keys
        case .outage: Outage.keys
        case .corrupt: Corrupt.keys
        case .truncate: Truncate.keys
        case .trace: Trace.keys
        case .slice: Slice.keys
        case .slowReader: SlowReader.keys
        case .loss: Loss.keys
        case .http: HTTPFault.keys
        case .connect: Connect.keys
        case .connectionLimit: ConnectionLimit.keys
        case .slowClose: SlowClose.keys
        case .halfOpen: HalfOpen.keys
        }
    }
}
