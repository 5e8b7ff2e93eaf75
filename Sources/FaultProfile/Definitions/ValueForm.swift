import Units

/// The allowed values of a key: a description, an example and the schema.
package struct ValueForm: Sendable {
    /// The name of the definition in the schema; `nil` for a choice, which is inlined.
    package let name: String?
    /// The description for the pages: "duration above zero".
    package var words: String
    let example: String
    package let schema: JSONText
    /// The forms of the elements, if it is a list.
    package let elements: [ValueForm]

    init(_ name: String?, _ words: String, _ example: String, _ schema: JSONText, elements: [ValueForm] = []) {
        self.name = name
        self.words = words
        self.example = example
        self.schema = schema
        self.elements = elements
    }

    /// The form with another description for the pages.
    func described(_ words: String) -> ValueForm {
        var form = self
        form.words = words
        return form
    }

    /// Forms that are only parts of others.
    package static let parts = [
        size, rate, duration, connectionNumber, fields, text,
    ]

    /// A value of a form, which has a name, or a list of 1 to `limit` of them.
    static func oneOrMore(_ name: String, _ words: String, of element: ValueForm, limit: Int) -> ValueForm {
        let definition = element.name ?? ""
        return ValueForm(
            name,
            "\(words), or a list of 1 to \(limit) such",
            element.example,
            .oneOf(.definition(definition), .list(of: definition, 1...limit)),
            elements: [element]
        )
    }

    static func choice(_ words: [String]) -> ValueForm {
        let marked = words.map { "`\($0)`" }
        let list = marked.dropLast().joined(separator: ", ") + (words.count > 1 ? " or " : "") + (marked.last ?? "")
        return ValueForm(
            nil,
            list,
            words.map { "\"\($0)\"" }.joined(separator: " or "),
            .object([("enum", .array(words.map(JSONText.text)))])
        )
    }
}

extension JSONText {
    /// A text, in a schema: `pattern` matches it as a whole.
    static func string(_ pattern: String = "", limit: Int? = nil, least: Int? = nil) -> JSONText {
        var members: [(key: String, value: JSONText)] = [("type", .text("string"))]
        if let least { members.append(("minLength", .number(UInt64(least)))) }
        if let limit { members.append(("maxLength", .number(UInt64(limit)))) }
        if !pattern.isEmpty { members.append(("pattern", .text("^\(pattern)$"))) }
        return .object(members)
    }

    static func integer(_ range: ClosedRange<UInt64>) -> JSONText {
        .object([
            ("type", .text("integer")), ("minimum", .number(range.lowerBound)), ("maximum", .number(range.upperBound)),
        ])
    }

    static func list(of definition: String, _ counts: ClosedRange<Int>) -> JSONText {
        var members: [(key: String, value: JSONText)] = [("type", .text("array"))]
        if counts.lowerBound > 0 { members.append(("minItems", .number(UInt64(counts.lowerBound)))) }
        members.append(("maxItems", .number(UInt64(counts.upperBound))))
        return .object(members + [("items", .definition(definition))])
    }

    static func oneOf(_ values: JSONText...) -> JSONText { .object([("oneOf", .array(values))]) }

    /// A reference to another definition of the schema.
    package static func definition(_ name: String) -> JSONText { .object([("$ref", .text("#/$defs/\(name)"))]) }

    /// The rule that keys have these values, if present.
    static func has(_ values: KeyValuePairs<String, String>) -> JSONText {
        .object([("properties", .object(values.map { (key: $0.key, value: .object([("const", .text($0.value))])) }))])
    }

    /// The rule that these keys are present.
    package static func requires(_ keys: String...) -> JSONText {
        .object([("required", .array(keys.map(JSONText.text)))])
    }
}

/// The parts of patterns, as regular expressions.
enum Pattern {
    static let rate = "\(positive) *(bit|kbit|Mbit|Gbit|B|KB|kB|KiB|MB|MiB|GB|GiB)/s"
    static let chance = #"0*(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?) *%"#
    static let age = #"(?=.*[0-9])(\#(number) *\#(time))?(\.\.(\#(number) *\#(time))?)?"#
    static let fieldValue = #"[^\u0000-\u0008\u000A-\u001F\u007F]*"#
    static let number = #"[0-9]+(\.[0-9]+)?"#
    static let positive = #"(?=.*[1-9])[0-9]+(\.[0-9]+)?"#
    static let time = #"(ns|us|\u00B5s|\u03BCs|ms|s|min|h)"#
    static let bytes = "(B|KB|kB|KiB|MB|MiB|GB|GiB|TB|TiB)"
    static let uncontrolled = #"[^\u0000-\u001F\u007F-\u009F]*"#
    static let token = "[!#$%&'*+.^_`|~0-9A-Za-z-]"
    static let host = #"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)"#
    static let port =
        "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
    private static let unix =
        #"unix:(?![0-9]+$)(@[^\u0000-\u001F\u007F-\u009F]{1,107}"#
        + #"|(?!@)[^\u0000-\u001F\u007F-\u009F]{0,106}[^/\u0000-\u001F\u007F-\u009F])"#

    /// A Unix socket, or one of the ports of a pattern, perhaps with a host and TLS, or a URL without a path.
    static func address(port: String) -> String {
        "(\(unix)|(?!unix:)(tls:)?\(host)?:(\(port))|https://\(host)(:(\(port)))?/?)"
    }

    /// At least `ProfileLimits.shortestPeriod`, in every unit.
    static let period =
        #"(0*[1-9][0-9]{6,}(\.[0-9]+)? *ns|0*[1-9][0-9]{3,}(\.[0-9]+)? *(us|\u00B5s|\u03BCs)"#
        + #"|0*[1-9][0-9]*(\.[0-9]+)? *ms|(0*[1-9][0-9]*(\.[0-9]+)?|0+\.0{0,2}[1-9][0-9]*) *s"#
        + #"|(?=.*[1-9])[0-9]+(\.[0-9]+)? *(min|h))"#
    static let program = #"([^/\u0000]+|/([^\u0000]*[^/\u0000]))"#
    static let hostName =
        #"((\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?(:(\#(port)))?"#
        + #"|(?=.*:.*:)[0-9A-Fa-f:.]{2,45}|\[(?=.*:.*:)[0-9A-Fa-f:.]{2,45}\]:(\#(port)))"#
    static let address =
        #"([0-9]{1,3}(\.[0-9]{1,3}){3}(/(0|[1-9]|[12][0-9]|3[0-2]))?"#
        + #"|(?=.*:.*:)[0-9A-Fa-f:.]{2,45}(/(0|[1-9][0-9]?|1[01][0-9]|12[0-8]))?)"#
}

extension ValueForm {
    /// A value with a unit, which a pattern matches as a whole.
    private static func measure(_ name: String, _ words: String, _ example: String, _ pattern: String) -> ValueForm {
        ValueForm(name, words, "\"\(example)\"", .string(pattern, limit: ProfileLimits.valueLength))
    }

    /// Bytes: 1 to `limit` of them, as a text or in digits.
    static func bytes(_ name: String, limit: Int, _ example: String) -> ValueForm {
        let words = #"text, or `{ "hex": "16 03 01" }`, of 1 to \#(limit) bytes"#
        return ValueForm(
            name,
            words,
            "\"\(example)\"",
            .oneOf(.string(limit: limit, least: 1), .definition("hexadecimal"))
        )
    }

    private static func object(_ name: String, words: String = "object", _ example: String) -> ValueForm {
        ValueForm(name, words, example, .definition(name))
    }

    private static func name(_ definition: String, _ limit: Int) -> ValueForm {
        ValueForm(definition, "name", "\"a-name\"", .string(Pattern.uncontrolled, limit: limit, least: 1))
    }

    private static func map(_ members: [(key: String, value: JSONText)]) -> JSONText {
        .object([("type", .text("object"))] + members)
    }
}

// MARK: Values of all objects

extension ValueForm {
    static let text = ValueForm("text", "text", "\"…\"", .string(limit: ProfileLimits.textLength))
    static let name = name("name", ProfileLimits.nameLength)
    static let faultName = name("faultName", ProfileLimits.faultNameLength)
    static let flag = ValueForm("flag", "`true` or `false`", "true", .object([("type", .text("boolean"))]))
    static let seed = ValueForm("seed", "whole number, 0 to 2⁶⁴ − 1", "7", .integer(0...UInt64.max))
    static let date = ValueForm(
        "date",
        #"`"2024"`, `"2024-06"` or `"2024-06-11"`"#,
        "\"2024-06\"",
        .string("[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")
    )

    static let duration = measure("duration", "duration", "250 ms", "\(Pattern.number) *\(Pattern.time)")
    static let positiveDuration =
        measure("positiveDuration", "duration above zero", "250 ms", "\(Pattern.positive) *\(Pattern.time)")
    static let durationSpread = measure(
        "durationSpread",
        #"duration, or one with its jitter: `"200 ms ± 50 ms"`"#,
        "250 ms",
        #"\#(Pattern.number) *\#(Pattern.time)( *(\u00B1|\+-) *\#(Pattern.number) *\#(Pattern.time))?"#
    )
    static let period = measure("period", "duration, at least `\"1 ms\"`", "250 ms", Pattern.period)
    static let size = measure("size", "size", "64 KiB", "\(Pattern.number) *\(Pattern.bytes)")
    static let positiveSize = measure(
        "positiveSize",
        "size above zero",
        "64 KiB",
        "\(Pattern.positive) *\(Pattern.bytes)"
    )
    static let rate = measure("rate", "rate above zero", "20 Mbit/s", Pattern.rate)
    static let chance = measure("chance", "chance", "20 %", Pattern.chance)
    static let age = measure("age", #"`"5 s"`, `"5 s..10 s"` or `"..10 s"`"#, "5 s", Pattern.age)
    static let sizeRange = ValueForm(
        "sizeRange",
        "list of two offsets, the lower first",
        #"["1 MB", "10 MB"]"#,
        .list(of: "size", 2...2)
    )

    static let connectionNumber =
        ValueForm("connectionNumber", "whole number", "3", .integer(1...ProfileLimits.connectionNumber))
    static let ordinals = ValueForm(
        "ordinals",
        #"`3`, `"1..2"`, `"3.."` or `{ "every": 3 }`"#,
        "3",
        .oneOf(
            .definition("connectionNumber"),
            .string(#"[1-9][0-9]{0,11}\.\.([1-9][0-9]{0,11})?"#),
            .definition("connectionStep")
        )
    )
    static let connections = ValueForm(
        "connections",
        #"`3`, `"1..2"`, `"3.."`, `{ "every": 3 }` or `{ "number": 3, "per": "target" }`"#,
        "3",
        .oneOf(.definition("ordinals"), .definition("connectionsPerTarget"))
    )
    static let addressRange = ValueForm("addressRange", "address", "\"10.0.0.0/8\"", .string(Pattern.address))
    static let hostName = ValueForm("hostName", "name of a host", "\"*.example.com\"", .string(Pattern.hostName))
    static let program = ValueForm("program", "name of a program", "\"curl\"", .string(Pattern.program))
    static let listenAddress =
        ValueForm("listenAddress", "address", "\"127.0.0.1:8080\"", .string(Pattern.address(port: "0|\(Pattern.port)")))
    static let upstreamAddress =
        ValueForm("upstreamAddress", "address", "\"127.0.0.1:80\"", .string(Pattern.address(port: Pattern.port)))
    static let fileMode =
        ValueForm("fileMode", "octal digits, such as `\"0660\"`", "\"0660\"", .string("0?[0-7]{3}"))
    static let proxyName =
        ValueForm("proxyName", "a proxy's name", "\"web\"", .string(limit: ProfileLimits.nameLength, least: 1))
    static let proxyProfile = ValueForm(
        "proxyProfile",
        "text, or an object with `name`, `faults`, `phases` and `repeat`",
        "\"slow-3g\"",
        .oneOf(.string(limit: ProfileLimits.textLength, least: 1), .definition("embeddedProfile"))
    )

    static let proxies =
        ValueForm("proxies", "list of [proxies](#proxies)", "[ … ]", .list(of: "proxy", 0...ProfileLimits.proxies))
    static let faults =
        ValueForm("faults", "list of [faults](#faults)", "[ … ]", .list(of: "fault", 0...ProfileLimits.faults))
    static let phases =
        ValueForm("phases", "list of [phases](#phases)", "[ … ]", .list(of: "phase", 0...ProfileLimits.phases))
    static let condition = object("condition", words: "[condition](#when)", #"{ "connection": 1 }"#)
    static let profileCondition =
        object("profileCondition", words: "[condition](#when)", #"{ "host": "api.example.com" }"#)
    static let duty = object("duty", words: "[object](#duty-cycles)", #"{ "on": "2 s", "off": "8 s" }"#)
    static let notes = ValueForm(
        "notes",
        "object: kinds of faults, and texts",
        #"{ "latency": "Its delay is one-way." }"#,
        map([
            ("propertyNames", .object([("enum", .array(FaultKind.Name.allCases.map { .text($0.rawValue) }))])),
            ("additionalProperties", .definition("text")),
        ])
    )
    static let presets = ValueForm(
        "presets",
        "object: names, and presets",
        #"{ "my-network": { "summary": "…" } }"#,
        map([
            ("minProperties", .number(1)), ("maxProperties", .number(UInt64(ProfileLimits.presets))),
            ("propertyNames", .definition("name")), ("additionalProperties", .definition("preset")),
        ])
    )
}

// MARK: Values of HTTP

extension ValueForm {
    static let httpCondition =
        object("httpCondition", words: "[condition](#http-messages)", #"{ "method": "GET", "path": "/files/*" }"#)
    static let token =
        ValueForm("token", "text", "\"GET\"", .string("\(Pattern.token){1,\(ProfileLimits.textLength)}"))
    static let textPattern = ValueForm(
        "textPattern",
        "text, `*` in it for any characters",
        "\"/files/*\"",
        .string(#"[/*][^\u0000-\u0020\u007F-\u009F]*"#, limit: ProfileLimits.textLength)
    )
    static let fields = ValueForm(
        "fields",
        "object: names of fields, and texts",
        #"{ "Retry-After": "2" }"#,
        map([
            ("maxProperties", .number(UInt64(ProfileLimits.httpFields))),
            ("propertyNames", .string("\(Pattern.token)+", limit: ProfileLimits.nameLength)),
            ("additionalProperties", .string(Pattern.fieldValue, limit: ProfileLimits.textLength)),
        ])
    )
    static let fieldPatterns = ValueForm(
        "fieldPatterns",
        "object: names of fields, and texts with `*` for any characters",
        #"{ "Range": "bytes=*" }"#,
        .definition("fields")
    )
    static let status = ValueForm(
        "status",
        #"`206`, `"5xx"` or `"500..504"`"#,
        "503",
        .oneOf(.integer(100...599), .string(#"([1-5]xx|[1-5][0-9]{2}\.\.[1-5][0-9]{2})"#))
    )
    static let answerStatus = ValueForm("answerStatus", "whole number, 200 to 599", "503", .integer(200...599))
    static let informationalStatus = ValueForm(
        "informationalStatus",
        #"`104`, `"1xx"` or `"102..104"`"#,
        "104",
        .oneOf(.integer(100...199), .string(#"(1xx|1[0-9]{2}\.\.1[0-9]{2})"#))
    )
    static let answerBody =
        ValueForm("answerBody", "text of up to 64 KiB", "\"try later\"", .string(limit: ProfileLimits.answerBytes))
    static let answer = object("answer", #"{ "status": 503 }"#)
}

// MARK: Values of kinds of faults

extension ValueForm {
    static let digits = ValueForm("digits", "text", "\"…\"", .string(limit: ProfileLimits.hexadecimalLength))
    static let pattern = bytes("pattern", limit: ProfileLimits.patternBytes, "END")
    static let cutOffsets = ValueForm(
        "cutOffsets",
        "offset, or a list of 1 to \(ProfileLimits.cutOffsets) of them",
        "\"64 KiB\"",
        .oneOf(.definition("size"), .list(of: "size", 1...ProfileLimits.cutOffsets))
    )
    static let quantiles = ValueForm(
        "quantiles",
        "list of 2 to \(ProfileLimits.quantiles) durations, none below the one before",
        #"["20 ms", "30 ms", "90 ms"]"#,
        .list(of: "duration", 2...ProfileLimits.quantiles)
    )
    static let steps = ValueForm(
        "steps",
        "list of 1 to \(ProfileLimits.rateSteps) steps",
        #"[ { "after": "2 s", "rate": "1 Mbit/s" } ]"#,
        .list(of: "step", 1...ProfileLimits.rateSteps)
    )
    static let spikes = object("spikes", #"{ "every": "10 s", "for": "500 ms", "extra": "300 ms" }"#)
    static let wave = object("wave", #"{ "low": "1 Mbit/s", "high": "8 Mbit/s", "period": "20 s" }"#)
    static let tracePath = ValueForm(
        "tracePath",
        "path, from the folder of the file that says it",
        "\"traces/12mbit.trace\"",
        .string(limit: ProfileLimits.pathLength, least: 1)
    )
    static let certificatePath = ValueForm(
        "certificatePath",
        "path, from the folder of the file that says it",
        "\"certificates/own.pem\"",
        .string(limit: ProfileLimits.pathLength, least: 1)
    )
    static let burstLength =
        ValueForm("burstLength", "whole number, 1 to 1,000", "5", .integer(1...UInt64(ProfileLimits.burstLength)))
    static let bit = ValueForm("bit", "0, the lowest, to 7", "3", .integer(0...7))
    static let connectionCount = ValueForm(
        "connectionCount",
        "whole number, 1 to 1,000,000",
        "100",
        .integer(1...UInt64(ConnectionLimit.largest))
    )
    static let protocolName = ValueForm(
        "protocolName",
        "name of a protocol, or `none`",
        "\"h2\"",
        .string(limit: TLSFault.protocolLength, least: 1)
    )
}
