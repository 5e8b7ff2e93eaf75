import Units

/// Reads and writes a value of a profile.
///
/// Its functions, and those of `Field` and `ObjectTable`, aren't specialized for each of some 80 types: that took the compiler
/// half of its time for this module, and a profile is read once.
package struct Form<Value: Sendable>: Sendable {
    /// Reads the value of a key; `nil` where it can't be read, which is reported.
    typealias Read = @Sendable (_ node: JSONNode, _ key: String, inout ProfileDecoder) -> Value?

    /// The allowed values, for messages, the schema and the pages.
    var shape: ValueForm
    let read: Read
    let write: @Sendable (Value) -> JSONText

    @_semantics("optimize.sil.specialize.generic.never")
    init(_ shape: ValueForm, read: @escaping Read, write: @escaping @Sendable (Value) -> JSONText) {
        self.shape = shape
        self.read = read
        self.write = write
    }

    /// The form with another description for the pages.
    @_semantics("optimize.sil.specialize.generic.never")
    func described(_ words: String) -> Form {
        var form = self
        form.shape.words = words
        return form
    }

    /// The form with a check; a problem is reported and the value is kept.
    @_semantics("optimize.sil.specialize.generic.never")
    func checked(_ problem: @escaping @Sendable (Value) -> (what: String, remedy: String)?) -> Form {
        Form(
            shape,
            read: { node, key, decoder in
                let value = read(node, key, &decoder)
                if let value, let (what, remedy) = problem(value) {
                    decoder.report(what, remedy: remedy, at: node.place)
                }
                return value
            },
            write: write
        )
    }

    /// The form restricted by `condition`; other values are reported and count as unread.
    @_semantics("optimize.sil.specialize.generic.never")
    func only(
        _ shape: ValueForm? = nil,
        where condition: @escaping @Sendable (Value) -> Bool,
        else problem: @escaping @Sendable (_ key: String, Value) -> (what: String, remedy: String)
    ) -> Form {
        Form(
            shape ?? self.shape,
            read: { node, key, decoder in
                guard let value = read(node, key, &decoder) else { return nil }
                if condition(value) { return value }
                let (what, remedy) = problem(key, value)
                decoder.report(what, remedy: remedy, at: node.place)
                return nil
            },
            write: write
        )
    }

    @_semantics("optimize.sil.specialize.generic.never")
    static func measure(
        _ shape: ValueForm,
        _ example: String,
        remedy: String? = nil,
        _ parse: @escaping @Sendable (String) throws(UnitError) -> Value,
        text: @escaping @Sendable (Value) -> String
    ) -> Form {
        Form(
            shape,
            read: { node, key, decoder in
                decoder.measure(node, key: key, example: example, remedy: remedy, parse)
            },
            write: { .text(text($0)) }
        )
    }
}

extension Form<Duration> {
    static var duration: Form { measure(.duration, "250 ms", Duration.init(parsing:)) { $0.text } }

    package static var positiveDuration: Form {
        duration.only(
            .positiveDuration,
            where: { $0 > .zero },
            else: { key, _ in
                ("\(key.quoted) is zero", "write a duration above zero, such as “250 ms”")
            }
        )
    }

    /// A repeating time, such as a phase: `ProfileLimits.shortestPeriod` or more.
    static var period: Form {
        let shortest = ProfileLimits.shortestPeriod
        return positiveDuration.only(
            .period,
            where: { $0 >= shortest },
            else: { key, period in
                let what =
                    "\(key.quoted) is \(period.text), and the shortest time that comes again and again is \(shortest.text)"
                return (what, "write \(shortest.text.quoted) or more")
            }
        )
    }

    /// A round trip: above zero, and at most `ProfileLimits.roundTrip`.
    static var roundTrip: Form {
        positiveDuration.only(
            where: { $0 <= ProfileLimits.roundTrip },
            else: { key, _ in
                ("\(key.quoted) is longer than a day", "write a round trip, such as “60 ms”")
            }
        ).described("duration above zero, a day at most")
    }
}

extension Form<DurationSpread> {
    /// A duration, perhaps with its jitter.
    static var durationSpread: Form { measure(.durationSpread, "250 ms", DurationSpread.init(parsing:)) { $0.text } }
}

extension Form<ByteCount> {
    static var size: Form { measure(.size, "64 KiB", ByteCount.init(parsing:)) { $0.text } }
    static var offset: Form { size.described("offset") }

    static var positiveSize: Form {
        size.only(
            .positiveSize,
            where: { $0 > .zero },
            else: { key, _ in
                ("\(key.quoted) is zero", "write a size above zero, such as “64 KiB”")
            }
        )
    }
}

extension Form<ClosedRange<ByteCount>> {
    /// A list of two sizes, the lower first.
    static var sizeRange: Form {
        Form(
            .sizeRange,
            read: { node, key, decoder in
                let remedy = "write the lower and the upper offset: “[\"1 MB\", \"10 MB\"]”"
                guard case .array(let nodes) = node.value else {
                    decoder.reportType(of: node, expected: "a list of two sizes", key: key, remedy: remedy)
                    return nil
                }
                guard nodes.count == 2 else {
                    decoder.report("\(key.quoted) has \(nodes.count) values, not two", remedy: remedy, at: node.place)
                    return nil
                }
                let sizes = nodes.compactMap {
                    decoder.measure($0, key: key, example: "1 MB", ByteCount.init(parsing:))
                }
                guard sizes.count == 2 else { return nil }
                guard sizes[0] <= sizes[1] else {
                    decoder.report(
                        "the lower offset, \(sizes[0].text), is above the upper one, \(sizes[1].text)",
                        remedy: "write the smaller one first",
                        at: node.place
                    )
                    return nil
                }
                return sizes[0]...sizes[1]
            },
            write: { .array([.text($0.lowerBound.text), .text($0.upperBound.text)]) }
        )
    }
}

extension Form<BitRate> {
    static var rate: Form {
        measure(.rate, "20 Mbit/s", BitRate.init(parsing:)) { $0.text }
            .only(
                where: { $0.bitsPerSecond > 0 },
                else: { key, _ in
                    let remedy = "write a rate above zero, or use a “stall” or an “outage” to let nothing pass"
                    return ("\(key.quoted) is zero", remedy)
                }
            )
    }
}

extension Form<Probability> {
    static var chance: Form { measure(.chance, "20 %", Probability.init(parsing:)) { $0.text } }
}

extension Form<Bool> {
    package static var flag: Form {
        Form(
            .flag,
            read: { node, key, decoder in
                if case .boolean(let flag) = node.value { return flag }
                let remedy = "write true or false, without quotes"
                decoder.reportType(of: node, expected: "true or false", key: key, remedy: remedy)
                return nil
            },
            write: { .flag($0) }
        )
    }
}

extension Form<String> {
    @_semantics("optimize.sil.specialize.generic.never")
    static func text(_ shape: ValueForm = .text, limit: Int = ProfileLimits.textLength) -> Form {
        Form(shape, read: { $2.text($0, key: $1, limit: limit) }, write: { .text($0) })
    }

    static var faultName: Form {
        Form(
            .faultName,
            read: { $2.name($0, key: $1, limit: ProfileLimits.faultNameLength) },
            write: { .text($0) }
        )
    }
}

extension Form<BytePattern> {
    static var pattern: Form {
        let bytes = Form<[UInt8]>.bytes(.pattern, limit: ProfileLimits.patternBytes, of: "a pattern")
        return Form(.pattern, read: { bytes.read($0, $1, &$2).map(BytePattern.init) }, write: { $0.written })
    }
}

extension Form<Int> {
    @_semantics("optimize.sil.specialize.generic.never")
    static func wholeNumber(_ shape: ValueForm, in range: ClosedRange<Int>) -> Form {
        let bounds = UInt64(range.lowerBound)...UInt64(range.upperBound)
        return Form(
            shape,
            read: { $2.wholeNumber($0, key: $1, in: bounds).map { Int($0) } },
            write: { .number(UInt64($0)) }
        )
    }
}

extension Form where Value: RawRepresentable<String> & CaseIterable & SendableMetatype {
    /// One of the words of an enumeration.
    static var choice: Form {
        @_semantics("optimize.sil.specialize.generic.never")
        get {
            Form(.choice(Value.allCases.map(\.rawValue)), read: { $2.choice($0, $1) }, write: { .text($0.rawValue) })
        }
    }
}

extension Form {
    /// An object with keys of its own; `check` reports conflicts between them.
    @_semantics("optimize.sil.specialize.generic.never")
    static func object(
        _ shape: ValueForm,
        _ table: ObjectTable<Value>,
        check: @escaping @Sendable (Value, CheckedObject, inout ProfileDecoder) -> Void = { _, _, _ in }
    ) -> Form {
        Form(
            shape,
            read: { node, _, decoder in table.read(node, &decoder, check: check) },
            write: { .object(table.written($0)) }
        )
    }
}

extension Form {
    /// A text that `parse` reads; `what` it is, with its article.
    @_semantics("optimize.sil.specialize.generic.never")
    static func parsed(
        _ shape: ValueForm,
        _ what: String,
        _ parse: @escaping @Sendable (String) throws(UnitError) -> Value,
        text: @escaping @Sendable (Value) -> String
    ) -> Form {
        Form(
            shape,
            read: { node, key, decoder in
                if case .text(let text) = node.value { return decoder.parsed(text, at: node.place, parse) }
                let remedy = "write “\(shape.example)”, or a list of such"
                decoder.reportType(of: node, expected: what, key: key, remedy: remedy)
                return nil
            },
            write: { .text(text($0)) }
        )
    }

    /// One value, described by `words`, or a list of 1 to `limit` of them; `what` they are, as a plural.
    @_semantics("optimize.sil.specialize.generic.never")
    static func oneOrMore<Element: Sendable>(
        _ name: String,
        _ words: String,
        of element: Form<Element>,
        _ what: String,
        limit: Int = ProfileLimits.triggerValues,
        empty remedy: String
    ) -> Form where Value == [Element] {
        Form(
            .oneOrMore(name, words, of: element.shape, limit: limit),
            read: { node, key, decoder in
                guard case .array(let elements) = node.value else {
                    return [element.read(node, key, &decoder)].compactMap(\.self)
                }
                if elements.isEmpty {
                    decoder.report("\(key.quoted) is an empty list", remedy: remedy, at: node.place)
                }
                let nodes = decoder.list(node, key: key, limit: limit, of: what) ?? []
                return nodes.compactMap { element.read($0, key, &decoder) }
            },
            write: { $0.count == 1 ? element.write($0[0]) : .array($0.map(element.write)) }
        )
    }
}
