import Units

/// How a value of a profile is read and written.
struct Form<Value: Sendable>: Sendable {
    /// What a value may be, for messages, the schema and the pages.
    var shape: ValueForm
    /// The value of a key; `nil` where the object doesn't have it, or has one that can't be read, which is reported.
    let read: @Sendable (CheckedObject, String, inout ProfileDecoder) -> Value?
    let write: @Sendable (Value) -> JSONText

    init(
        _ shape: ValueForm,
        read: @escaping @Sendable (CheckedObject, String, inout ProfileDecoder) -> Value?,
        write: @escaping @Sendable (Value) -> JSONText
    ) {
        self.shape = shape
        self.read = read
        self.write = write
    }

    /// The form with another description for the pages.
    func described(_ words: String) -> Form {
        var form = self
        form.shape.words = words
        return form
    }

    /// The form of a value about which `problem` says what is wrong, if anything; it is reported, and the value holds.
    func checked(_ problem: @escaping @Sendable (Value) -> (what: String, remedy: String)?) -> Form {
        Form(
            shape,
            read: { object, key, decoder in
                let value = read(object, key, &decoder)
                if let value, let (what, remedy) = problem(value) {
                    decoder.report(what, remedy: remedy, at: object[key]?.place ?? object.place)
                }
                return value
            },
            write: write
        )
    }
}

extension Form<Duration> {
    static var duration: Form { Form(.duration, read: { $2.duration($0, $1) }, write: { .text($0.text) }) }
    static var positiveDuration: Form {
        Form(.positiveDuration, read: { $2.positiveDuration($0, $1) }, write: { .text($0.text) })
    }
    static var period: Form { Form(.period, read: { $2.period($0, $1) }, write: { .text($0.text) }) }
    static var roundTrip: Form {
        Form(.positiveDuration, read: { $2.roundTrip($0, $1) }, write: { .text($0.text) })
            .described("duration above zero, a day at most")
    }
}

extension Form<ByteCount> {
    static var size: Form { Form(.size, read: { $2.size($0, $1) }, write: { .text($0.text) }) }
    static var offset: Form { size.described("offset") }
    static var positiveSize: Form {
        Form(.positiveSize, read: { $2.positiveSize($0, $1) }, write: { .text($0.text) })
    }
}

extension Form<ClosedRange<ByteCount>> {
    static var sizeRange: Form {
        Form(
            .sizeRange,
            read: { object, key, decoder in decoder.sizeRange(object, key).map { $0.low...$0.high } },
            write: { .array([.text($0.lowerBound.text), .text($0.upperBound.text)]) }
        )
    }
}

extension Form<BitRate> {
    static var rate: Form { Form(.rate, read: { $2.rate($0, $1) }, write: { .text($0.text) }) }
}

extension Form<Probability> {
    static var chance: Form { Form(.chance, read: { $2.chance($0, $1) }, write: { .text($0.text) }) }
}

extension Form<Bool> {
    static var flag: Form { Form(.flag, read: { $2.flag($0, $1) }, write: { .flag($0) }) }
}

extension Form<BytePattern> {
    static var pattern: Form {
        let bytes = Form<[UInt8]>.bytes(.pattern, limit: ProfileLimits.patternBytes, of: "a pattern")
        return Form(
            .pattern,
            read: { object, key, decoder in bytes.read(object, key, &decoder).map(BytePattern.init) },
            write: { $0.written }
        )
    }
}

extension Form<Int> {
    static func wholeNumber(_ shape: ValueForm, in range: ClosedRange<Int>) -> Form {
        Form(
            shape,
            read: { object, key, decoder in
                object[key].flatMap {
                    decoder.wholeNumber($0, key: key, in: UInt64(range.lowerBound)...UInt64(range.upperBound))
                }.map { Int($0) }
            },
            write: { .number(UInt64($0)) }
        )
    }
}

extension Form where Value: RawRepresentable<String> & CaseIterable & SendableMetatype {
    /// One of the words of an enumeration.
    static var choice: Form {
        Form(
            .choice(Value.allCases.map(\.rawValue)),
            read: { $2.choice($0, $1) },
            write: { .text($0.rawValue) }
        )
    }
}

extension Form {
    /// An object with keys of its own, about which `check` reports what doesn't go together.
    static func object(
        _ shape: ValueForm,
        _ table: ObjectTable<Value>,
        check: @escaping @Sendable (Value, CheckedObject, inout ProfileDecoder) -> Void = { _, _, _ in }
    ) -> Form {
        Form(
            shape,
            read: { object, key, decoder in object[key].flatMap { table.read($0, &decoder, check: check) } },
            write: { .object(table.written($0)) }
        )
    }
}
