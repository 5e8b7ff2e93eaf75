import Units

/// A key that an object may have.
package struct KeyShape: Sendable {
    package let name: String
    package let form: ValueForm
    package let isRequired: Bool
    /// The default, as a page says it; empty where there is nothing to say.
    package let fallback: String
    /// What it means, as a clause.
    package let text: String

    /// The key with a text about what it means.
    func meaning(_ text: String) -> KeyShape {
        KeyShape(name: name, form: form, isRequired: isRequired, fallback: fallback, text: text)
    }

    static func required(_ name: String, _ form: ValueForm, _ text: String) -> KeyShape {
        KeyShape(name: name, form: form, isRequired: true, fallback: "", text: text)
    }

    static func optional(_ name: String, _ form: ValueForm, fallback: String = "", _ text: String) -> KeyShape {
        KeyShape(name: name, form: form, isRequired: false, fallback: fallback, text: text)
    }
}

/// An object of a profile: the one table of its keys, for the reader, its messages, the schema and the pages.
package struct ObjectShape: Sendable {
    /// What the object is, with its article.
    var title: String
    /// What it does, as a sentence; only kinds of faults have one.
    package var summary = ""
    package var keys: [KeyShape]
    /// The name of its definition in the schema.
    package var definition = ""
    /// The keys of which exactly one is given, if there are such, and one of them with a value.
    package var oneOf: [String] = []
    var oneOfExample = ""
    /// What else the schema says of it.
    package var rules: [(key: String, value: JSONText)] = []

    /// Whether `word` is one of the keys, or was probably meant to be.
    func hasKey(near word: String) -> Bool {
        let names = keys.map(\.name)
        return names.contains(word) || !Spelling.nearest(to: word, among: names).isEmpty
    }

    /// Every object of a profile but the faults.
    package static let objects = [
        profile, presetFile, preset, proxy, embeddedProfile, phase, condition, DutyCycle.table.shape,
        HTTPCondition.table.shape,
        connectionStep,
        Latency.Spikes.table.shape, Bandwidth.Step.table.shape, Bandwidth.Wave.table.shape, HTTPAnswer.table.shape,
        hexadecimal,
    ]

    /// A fault of a kind: the keys of every fault, then its own.
    static func fault(_ kind: FaultKind.Name) -> ObjectShape { kind.shape }
}

extension ObjectShape {
    static let profile = ObjectShape(
        title: "a profile",
        keys: [
            .optional("$schema", .text, "for editors; Squall passes it over"),
            .required("name", .name, "a shipped profile is named as its file"),
            .optional("summary", .text, fallback: "empty", "one line"),
            .optional(
                "source",
                .text,
                fallback: "empty",
                "where its figures come from; not inherited by `extends`"
            ),
            .optional(
                "seed",
                .seed,
                fallback: "chosen at each run, and printed",
                "the seed of every draw: the same seed, the same faults at the same bytes. "
                    + "Stay below 2⁵³ if other programs rewrite the file"
            ),
            .optional("extends", .text, "the base, [see below](#extending-a-profile)"),
            .optional("proxies", .proxies, fallback: "empty", "proxies that `squall run` starts"),
            .optional("faults", .faults, fallback: "empty", "those that are always on"),
            .optional("phases", .phases, fallback: "empty", "intervals with faults of their own"),
            .optional("repeat", .flag, fallback: "`false`", "whether the phases start again"),
        ],
        definition: "profile"
    )

    static let presetFile = ObjectShape(
        title: "a file of presets",
        keys: [
            .optional("$schema", .text, "for editors; Squall passes it over"),
            .required("title", .text, "the tool whose presets they are, as the list of profiles heads them"),
            .optional("url", .text, fallback: "empty", "where the tool publishes its figures"),
            .optional("date", .date, fallback: "empty", "when the figures were published"),
            .optional("source", .text, fallback: "empty", "what the source of every preset begins with"),
            .optional(
                "notes",
                .notes,
                fallback: "empty",
                "what a kind of fault stands for, such as what the tool means by its delay: the source of each preset "
                    + "that has such a fault ends with it"
            ),
            .required("presets", .presets, "the presets by the names that `squall run NAME` finds"),
        ],
        definition: "presetFile"
    )

    static let preset = ObjectShape(
        title: "a preset",
        keys: [
            .required("summary", .text, "what it feels like, in a line"),
            .optional("source", .text, fallback: "empty", "where its figures come from, after the source of the file"),
            .optional("notes", .notes, fallback: "those of the file", "notes in place of those of the file"),
            .optional("seed", .seed, fallback: "chosen at each run, and printed", "the seed of every draw"),
            .optional("extends", .text, "the profile this one is based on, as in a profile"),
            .optional("faults", .faults, fallback: "empty", "those that are always on"),
            .optional("phases", .phases, fallback: "empty", "its phases, in order"),
            .optional("repeat", .flag, fallback: "`false`", "whether the phases start again after the last"),
        ],
        definition: "preset"
    )

    static let proxy = ObjectShape(
        title: "a proxy",
        keys: [
            .required("name", .name, "unique in the profile; part of the seed"),
            .required("listen", .listenAddress, "where it listens; port 0 is any free port"),
            .optional(
                "mode",
                .fileMode,
                fallback: "`\"0600\"`",
                "permissions of the Unix socket of `listen`"
            ),
            .required("upstream", .upstreamAddress, "where it forwards; port 1 to 65535"),
            .optional(
                "profile",
                .proxyProfile,
                fallback: "this profile",
                "its own faults and phases: a shipped profile, a path from this file's folder, or in place"
            ),
            .optional("faults", .faults, fallback: "empty", "further faults of this proxy only"),
            .optional(
                "phases",
                .phases,
                fallback: "those of the profile",
                "phases of this proxy only"
            ),
            .optional("repeat", .flag, fallback: "`false`", "whether its phases start again"),
        ],
        definition: "proxy"
    )

    static let embeddedProfile = ObjectShape(
        title: "the profile of a proxy",
        keys: [
            .required("name", .name, "the profile's name"),
            .optional("faults", .faults, fallback: "empty", "those that are always on"),
            .optional("phases", .phases, fallback: "empty", "its phases, in order"),
            .optional("repeat", .flag, fallback: "`false`", "whether the phases start again"),
        ],
        definition: "embeddedProfile"
    )

    static let phase = ObjectShape(
        title: "a phase",
        keys: [
            .required("name", .name, "unique in the profile"),
            .optional("for", .period, fallback: "for ever, in the last phase only", "how long it lasts"),
            .optional(
                "jitter",
                .duration.described("duration below `for`"),
                fallback: "`\"0 s\"`",
                "how much shorter or longer it may last; drawn evenly each time"
            ),
            .optional(
                "faults",
                .faults,
                fallback: "empty",
                "those of this phase, beside those always on"
            ),
        ],
        definition: "phase"
    )

    static let condition = ObjectShape(
        title: "“when”",
        keys: [
            .optional(
                "proxy",
                .proxyNames,
                fallback: "all",
                "the proxies that have the fault; not in a proxy's own fault"
            ),
            .optional(
                "connection",
                .connections,
                fallback: "all",
                "connections by number, from 1; `every`: its multiples"
            ),
            .optional("chance", .chance, fallback: "`\"100 %\"`", "drawn once for each connection"),
            .optional(
                "age",
                .age,
                fallback: "at every age",
                "age of the connection: from, between, until"
            ),
            .optional("client", .clients, fallback: "all", "clients by their IP address"),
            .optional(
                "clock",
                .age.described("as `age`"),
                fallback: "at all times",
                "the time since the proxy's clock started"
            ),
            .optional(
                "duty",
                .duty,
                fallback: "always on",
                "on and off in turn, on the proxy's clock"
            ),
            .optional(
                "after",
                .faultName.described("the name of another fault"),
                fallback: "at once",
                "on once that fault has acted on this proxy"
            ),
            .optional(
                "http",
                .httpCondition,
                fallback: "every byte",
                "the HTTP messages during which it is on"
            ),
        ],
        definition: "condition"
    )

    static let connectionStep = step("connection")
    static let requestStep = step("request")

    private static func step(_ key: String) -> ObjectShape {
        ObjectShape(
            title: "“\(key)” as a step",
            keys: [.required("every", .connectionNumber, "each whose number is a multiple of this")],
            definition: "connectionStep"
        )
    }
}
