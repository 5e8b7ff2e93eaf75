import Units

extension Condition {
    static let table = ObjectTable(
        Condition(),
        title: "“when”",
        definition: "condition",
        texts: """
            proxy: the proxies that have the fault; not in a proxy's own fault
            connection: connections by number, from 1; `every`: its multiples
            chance: drawn once for each connection
            age: age of the connection: from, between, until
            client: clients by their IP address
            host: the hosts that clients name: to the explicit proxy, in the SNI of TLS, or in `Host`
            clock: the time since the proxy's clock started
            duty: on and off in turn, on the proxy's clock
            after: on once that fault has acted on this proxy
            http: the HTTP messages during which it is on
            """,
        [
            .optional("proxy", \.proxies, .proxyNames, default: [], fallback: "all"),
            connectionKeys[0],
            .optional("chance", \.chance, .chance, default: .always),
            .optional("age", \.age, .window("age", "an"), fallback: "at every age"),
            connectionKeys[1], connectionKeys[2],
            .optional("clock", \.clock, .window("time", "a").described("as `age`"), fallback: "at all times"),
            .optional("duty", \.duty, .object(.duty, DutyCycle.table), fallback: "always on"),
            .optional("after", \.after, .faultName.described("the name of another fault"), fallback: "at once"),
            .optional(
                "http",
                \.http,
                .object(.httpCondition, HTTPCondition.table, check: HTTPCondition.check),
                fallback: "every byte"
            ),
        ]
    )

    /// `ageFrom` and `ageUntil` as one interval; `nil` where every age is in it.
    private var age: ClockWindow? {
        get { ageFrom > .zero || ageUntil != nil ? ClockWindow(from: ageFrom, until: ageUntil) : nil }
        set { (ageFrom, ageUntil) = (newValue?.from ?? .zero, newValue?.until) }
    }
}

extension Form<ConnectionSelection> {
    /// Connections, or requests, by number: `3`, `"1..2"`, `"3.."`, `{ "every": 3 }`.
    static var ordinals: Form {
        Form(.connections, read: { $2.ordinals($0, key: $1) }, write: { $0.written ?? .text("1..") })
    }
}

extension Form<ClockWindow> {
    /// An interval of time, whose ends are called `noun`: `"5 s"`, `"5 s..10 s"`, `"..10 s"`.
    fileprivate static func window(_ noun: String, _ article: String) -> Form {
        Form(
            .age,
            read: { $2.window($0, key: $1, noun: noun, article: article) },
            write: { .text($0.text) }
        )
    }
}

extension ProfileDecoder {
    /// `when`: the connections that a fault acts on. What can't be read is reported, and left out.
    mutating func condition(_ node: JSONNode) -> Condition { Condition.table.read(node, &self) ?? Condition() }

    private static let ordinalRemedy = "write 3, “1..2”, “3..” or { \"every\": 3 }"

    fileprivate mutating func ordinals(_ node: JSONNode, key: String) -> ConnectionSelection? {
        let allowed = 1...ProfileLimits.connectionNumber
        switch node.value {
        case .number:
            return wholeNumber(node, key: key, in: allowed).map { .range($0...$0) }
        case .object:
            let shape = key == "request" ? ObjectShape.requestStep : .connectionStep
            guard let object = object(node, shape), let step = object["every"] else { return nil }
            return wholeNumber(step, key: "every", in: allowed).map { .every($0) }
        case .text(let text):
            return ordinalRange(text, key: key, at: node.place)
        case .array, .boolean, .null, .unreadable:
            let expected = "a number, a range or a step"
            reportType(of: node, expected: expected, key: key, remedy: ProfileDecoder.ordinalRemedy)
            return nil
        }
    }

    private mutating func ordinalRange(_ text: String, key: String, at place: SourcePlace) -> ConnectionSelection? {
        guard let (first, last) = ProfileDecoder.rangeEnds(of: text), let lower = connectionNumber(first),
            let upper = last.isEmpty ? UInt64.max : connectionNumber(last)
        else {
            report("\(text.quoted) is not a range of \(key)s", remedy: ProfileDecoder.ordinalRemedy, at: place)
            return nil
        }
        guard lower <= upper else {
            report("the range \(text.quoted) ends before it begins", remedy: "write “\(upper)..\(lower)”", at: place)
            return nil
        }
        return .range(lower...upper)
    }

    private func connectionNumber(_ digits: String) -> UInt64? {
        guard digits.isDecimal, let number = UInt64(digits), (1...ProfileLimits.connectionNumber).contains(number)
        else { return nil }
        return number
    }

    fileprivate mutating func window(
        _ node: JSONNode,
        key: String,
        noun: String,
        article: String
    ) -> ClockWindow? {
        let text: String
        switch node.value {
        case .text(let given), .number(let given): text = given
        case .object, .array, .boolean, .null, .unreadable:
            reportType(of: node, expected: "a text with a unit", key: key, remedy: ClockWindow.remedy)
            return nil
        }
        return parsed(text, at: node.place) { text throws(UnitError) in
            try ClockWindow(parsing: text, noun: noun, article: article)
        }
    }

    /// What stands before and after the first "..".
    static func rangeEnds(of text: String) -> (first: String, last: String)? {
        let scalars = Array(text.unicodeScalars)
        let starts = scalars.indices.dropLast()
        guard let dots = starts.first(where: { scalars[$0] == "." && scalars[$0 + 1] == "." }) else { return nil }
        var first = String.UnicodeScalarView()
        var last = String.UnicodeScalarView()
        first.append(contentsOf: scalars[..<dots])
        last.append(contentsOf: scalars[(dots + 2)...])
        return (String(first), String(last))
    }
}
