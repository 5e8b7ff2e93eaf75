import Units

/// A key that an object may have.
package struct KeyShape: Sendable {
    package let name: String
    package let form: ValueForm
    package let isRequired: Bool
    /// The default, for the pages; may be empty.
    package let fallback: String
    /// The meaning, as a clause.
    package internal(set) var text: String

    static func required(_ name: String, _ form: ValueForm, _ text: String = "") -> KeyShape {
        KeyShape(name: name, form: form, isRequired: true, fallback: "", text: text)
    }

    static func optional(_ name: String, _ form: ValueForm, fallback: String = "", _ text: String = "") -> KeyShape {
        KeyShape(name: name, form: form, isRequired: false, fallback: fallback, text: text)
    }
}

/// An object of a profile: the one table of its keys, for the reader, its messages, the schema and the pages.
package struct ObjectShape: Sendable {
    /// The object's name with its article.
    var title: String
    /// A sentence about a kind of fault; empty for other objects.
    package var summary = ""
    package var keys: [KeyShape]
    /// The name of its definition in the schema.
    package var definition = ""
    /// Keys of which exactly one must be given, and an example.
    package var oneOf: [String] = []
    var oneOfExample = ""
    /// Further rules of the schema.
    package var rules: [(key: String, value: JSONText)] = []
    /// Words of other tools for its keys.
    var words: [ForeignWords.Entry] = []

    /// The object with the meanings of its keys: a line "key: meaning" for each.
    func explained(_ texts: String) -> ObjectShape {
        var shape = self
        for line in texts.split(separator: "\n") {
            let parts = line.split(separator: ": ", maxSplits: 1)
            guard let index = keys.firstIndex(where: { $0.name == parts[0] }) else { continue }
            shape.keys[index].text = String(parts[1])
        }
        return shape
    }

    func hasKey(near word: String) -> Bool {
        let names = keys.map(\.name)
        return names.contains(word) || !Spelling.nearest(to: word, among: names).isEmpty
    }

    /// Every object of a profile but the faults.
    package static let objects = [
        profile, presetFile, preset, proxy, embeddedProfile, phase, condition, Condition.profileTable.shape,
        DutyCycle.table.shape,
        HTTPCondition.table.shape,
        connectionStep, connectionsPerTarget,
        Latency.Spikes.table.shape, Bandwidth.Step.table.shape, Bandwidth.Wave.table.shape, HTTPAnswer.table.shape,
        hexadecimal,
    ]
}

extension ObjectShape {
    /// The shape of an object of another document: required keys, each with an example in JSON, and optional ones.
    package init(
        title: String,
        required: KeyValuePairs<String, String>,
        optional: [String],
        words: [ForeignWords.Entry]
    ) {
        let keys = required.map { KeyShape.required($0.key, ValueForm(nil, "", $0.value, .null)) }
        self.init(title: title, keys: keys + optional.map { .optional($0, .text) }, words: words)
    }

    static let profile = ObjectShape(
        title: "a profile",
        keys: [
            .optional("$schema", .text), .required("name", .name), .optional("summary", .text, fallback: "empty"),
            .optional("source", .text, fallback: "empty"),
            .optional("seed", .seed, fallback: "chosen at each run, and printed"),
            .optional("extends", .text), .optional("when", .profileCondition, fallback: "always"),
            .optional("proxies", .proxies, fallback: "empty"),
            .optional("faults", .faults, fallback: "empty"), .optional("phases", .phases, fallback: "empty"),
            .optional("repeat", .flag, fallback: "`false`"),
        ],
        definition: "profile"
    ).explained(
        """
        $schema: for editors; Squall ignores it
        name: a shipped profile is named as its file
        summary: one line
        source: where its figures come from; not inherited by `extends`
        seed: the seed of every draw: the same seed, the same faults at the same bytes. Stay below 2⁵³ if other \
        programs rewrite the file
        extends: the base, [see below](#extending-a-profile)
        when: the connections that every fault acts on; what a fault has of its own counts
        proxies: proxies that `squall run` starts
        faults: those that are always on
        phases: intervals with faults of their own
        repeat: whether the phases start again
        """
    )

    static let presetFile = ObjectShape(
        title: "a file of presets",
        keys: [
            .optional("$schema", .text), .required("title", .text), .optional("url", .text, fallback: "empty"),
            .optional("date", .date, fallback: "empty"), .optional("source", .text, fallback: "empty"),
            .optional("notes", .notes, fallback: "empty"), .required("presets", .presets),
        ],
        definition: "presetFile"
    ).explained(
        """
        $schema: for editors; Squall ignores it
        title: the tool whose presets they are, as the list of profiles heads them
        url: where the tool publishes its figures
        date: when the figures were published
        source: what the source of every preset begins with
        notes: what a kind of fault stands for, such as what the tool means by its delay: the source of each preset that \
        has such a fault ends with it
        presets: the presets by the names that `squall run NAME` finds
        """
    )

    static let preset = ObjectShape(
        title: "a preset",
        keys: [
            .required("summary", .text), .optional("source", .text, fallback: "empty"),
            .optional("notes", .notes, fallback: "those of the file"),
            .optional("seed", .seed, fallback: "chosen at each run, and printed"), .optional("extends", .text),
            .optional("faults", .faults, fallback: "empty"), .optional("phases", .phases, fallback: "empty"),
            .optional("repeat", .flag, fallback: "`false`"),
        ],
        definition: "preset"
    ).explained(
        """
        summary: one line
        source: where its figures come from, after the source of the file
        notes: notes in place of those of the file
        seed: the seed of every draw
        extends: the profile this one is based on, as in a profile
        faults: those that are always on
        phases: its phases, in order
        repeat: whether the phases start again
        """
    )

    static let proxy = ObjectShape(
        title: "a proxy",
        keys: [
            .required("name", .name), .required("listen", .listenAddress),
            .optional("mode", .fileMode, fallback: "`\"0600\"`"), .required("upstream", .upstreamAddress),
            .optional("profile", .proxyProfile, fallback: "this profile"),
            .optional("faults", .faults, fallback: "empty"),
            .optional("phases", .phases, fallback: "those of the profile"),
            .optional("repeat", .flag, fallback: "`false`"),
        ],
        definition: "proxy"
    ).explained(
        """
        name: unique in the profile; part of the seed
        listen: where it listens; port 0 is any free port
        mode: permissions of the Unix socket of `listen`
        upstream: where it forwards; port 1 to 65535
        profile: its own faults and phases: a shipped profile, a path from this file's folder, or in place
        faults: further faults of this proxy only
        phases: phases of this proxy only
        repeat: whether its phases start again
        """
    )

    static let embeddedProfile = ObjectShape(
        title: "the profile of a proxy",
        keys: [
            .required("name", .name, "the profile's name"),
            .optional("faults", .faults, fallback: "empty", "those that are always on"),
            .optional("phases", .phases, fallback: "empty", "its phases, in order"),
            .optional("repeat", .flag, fallback: "`false`", "whether the phases start again after the last"),
        ],
        definition: "embeddedProfile"
    )

    static let phase = ObjectShape(
        title: "a phase",
        keys: [
            .required("name", .name), .optional("for", .period, fallback: "for ever, in the last phase only"),
            .optional("jitter", .duration.described("duration below `for`"), fallback: "`\"0 s\"`"),
            .optional("faults", .faults, fallback: "empty"),
        ],
        definition: "phase"
    ).explained(
        """
        name: unique in the profile
        for: how long it lasts
        jitter: how much shorter or longer it may last; drawn evenly each time
        faults: those of this phase, beside those always on
        """
    )

    static let condition = Condition.table.shape

    static let connectionStep = step("connection")
    static let requestStep = step("request")
    static let connectionsPerTarget = ObjectShape(
        title: "“connection” per target",
        keys: [
            .required("number", .ordinals, "the number of the connection among those to its target"),
            .required("per", .choice(["target"]), "what has a count of its own"),
        ],
        definition: "connectionsPerTarget"
    )

    private static func step(_ key: String) -> ObjectShape {
        ObjectShape(
            title: "“\(key)” as a step",
            keys: [.required("every", .connectionNumber, "each whose number is a multiple of this")],
            definition: "connectionStep"
        )
    }
}
