import Units

/// One key of an object that becomes a `Root`: how it is read into it and written from it, and what it means.
struct Field<Root: Sendable>: Sendable {
    let shape: KeyShape
    /// Reads the key, if the object has it; returns whether it had a value that could be read.
    let read: @Sendable (inout Root, CheckedObject, inout ProfileDecoder) -> Bool
    /// The value to be written; `nil` leaves the key out.
    let write: @Sendable (Root) -> JSONText?

    /// A key whose value is a part of the root: `get` gives it, and `nil` where the key is left out.
    ///
    /// - Parameter fallback: what holds where the key isn't given, as a page says it.
    static func part<Value: Sendable>(
        _ name: String,
        _ form: Form<Value>,
        isRequired: Bool = false,
        fallback: String = "",
        get: @escaping @Sendable (Root) -> Value?,
        set: @escaping @Sendable (inout Root, Value) -> Void
    ) -> Field {
        Field(
            shape: KeyShape(name: name, form: form.shape, isRequired: isRequired, fallback: fallback, text: ""),
            read: { root, object, decoder in
                guard let value = form.read(object, name, &decoder) else { return false }
                set(&root, value)
                return true
            },
            write: { get($0).map(form.write) }
        )
    }

    /// A key that has to be given.
    static func required<Value: Sendable>(
        _ name: String,
        _ path: WritableKeyPath<Root, Value> & Sendable,
        _ form: Form<Value>
    ) -> Field {
        part(name, form, isRequired: true, get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 })
    }

    /// A key that may be left out, and is where it has the value that then holds.
    static func optional<Value: Equatable & Sendable>(
        _ name: String,
        _ path: WritableKeyPath<Root, Value> & Sendable,
        _ form: Form<Value>,
        default value: Value,
        fallback: String? = nil
    ) -> Field {
        part(
            name,
            form,
            fallback: fallback ?? form.marked(value),
            get: { $0[keyPath: path] == value ? nil : $0[keyPath: path] },
            set: { $0[keyPath: path] = $1 }
        )
    }

    /// A key that may be left out, and is written all the same.
    static func written<Value: Sendable>(
        _ name: String,
        _ path: WritableKeyPath<Root, Value> & Sendable,
        _ form: Form<Value>,
        default value: Value
    ) -> Field {
        part(name, form, fallback: form.marked(value), get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 })
    }

    /// A key that may be left out, and then has no value.
    static func optional<Value: Sendable>(
        _ name: String,
        _ path: WritableKeyPath<Root, Value?> & Sendable,
        _ form: Form<Value>,
        fallback: String = ""
    ) -> Field {
        part(name, form, fallback: fallback, get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 })
    }

    /// One of several keys that give a value of an enumeration: `make` makes a case of it, and `get` takes it back.
    static func one<Case, Value: Sendable>(
        _ name: String,
        _ path: WritableKeyPath<Root, Case> & Sendable,
        _ form: Form<Value>,
        _ make: @escaping @Sendable (Value) -> Case,
        get: @escaping @Sendable (Case) -> Value?
    ) -> Field {
        part(name, form, get: { get($0[keyPath: path]) }, set: { $0[keyPath: path] = make($1) })
    }
}

extension Form {
    /// A value as a page shows it: “`"0 s"`”, “`reset`”, “empty”.
    fileprivate func marked(_ value: Value) -> String {
        switch write(value) {
        case .text(""): "empty"
        case .object(let members) where members.isEmpty: "empty"
        case .text(let word) where shape.name == nil: "`\(word)`"
        case let other: "`\(other.compact)`"
        }
    }
}

/// The keys of an object of a profile: from this one table it is read, written and described.
struct ObjectTable<Root: Sendable>: Sendable {
    /// The keys for the reader's messages, the schema and the pages.
    let shape: ObjectShape
    /// What the keys are read into.
    let blank: Root
    let fields: [Field<Root>]
    /// The keys that are written before the others.
    let writtenFirst: [String]

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - title: the object with its article; a kind of fault has its own.
    ///   - definition: the name of its definition in the schema.
    ///   - texts: what each key means: a line for each, with its name and a colon in front.
    ///   - oneOf: the keys of which exactly one is given, with an example of it.
    ///   - rules: what else the schema says.
    init(
        _ blank: Root,
        title: String = "",
        definition: String = "",
        texts: String,
        oneOf: (keys: [String], example: String)? = nil,
        rules: [(key: String, value: JSONText)] = [],
        writtenFirst: [String] = [],
        _ fields: [Field<Root>]
    ) {
        let lines = texts.split(separator: "\n").map { $0.split(separator: ": ", maxSplits: 1) }
        let texts = Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), String($0[1])) })
        self.blank = blank
        self.fields = fields
        self.writtenFirst = writtenFirst
        shape = ObjectShape(
            title: title,
            keys: fields.map { $0.shape.meaning(texts[$0.shape.name] ?? "") },
            definition: definition,
            oneOf: oneOf?.keys ?? [],
            oneOfExample: oneOf?.example ?? "",
            rules: rules
        )
    }

    /// What an object says whose keys have been checked; `nil` where a key is missing, which has been reported. Keys whose
    /// values can't be read are added to `unread`.
    func read(
        _ object: CheckedObject,
        title: String,
        _ decoder: inout ProfileDecoder,
        unread: inout Set<String>
    ) -> Root? {
        if !shape.oneOf.isEmpty {
            decoder.checkOneOf(shape.oneOf, of: object, title: title, example: shape.oneOfExample)
        }
        var root = blank
        var isMissing = false
        var hasOne = shape.oneOf.isEmpty
        for field in fields {
            let isOneOf = shape.oneOf.contains(field.shape.name)
            var changed = root
            guard field.read(&changed, object, &decoder) else {
                if field.shape.isRequired { isMissing = true }
                if object[field.shape.name] != nil { unread.insert(field.shape.name) }
                continue
            }
            // Of several the first counts.
            if !isOneOf || !hasOne { root = changed }
            if isOneOf { hasOne = true }
        }
        return isMissing || !hasOne ? nil : root
    }

    /// The keys of a value, as a profile has them.
    func written(_ root: Root) -> [(key: String, value: JSONText)] {
        let members = fields.compactMap { field in field.write(root).map { (key: field.shape.name, value: $0) } }
        guard !writtenFirst.isEmpty else { return members }
        let first = writtenFirst.compactMap { key in members.first { $0.key == key } }
        return first + members.filter { !writtenFirst.contains($0.key) }
    }

    /// The value of a node that has to be an object with these keys.
    func read(
        _ node: JSONNode,
        _ decoder: inout ProfileDecoder,
        check: (Root, CheckedObject, inout ProfileDecoder) -> Void = { _, _, _ in }
    ) -> Root? {
        var unread: Set<String> = []
        guard let object = decoder.object(node, shape),
            let value = read(object, title: shape.title, &decoder, unread: &unread)
        else { return nil }
        check(value, object, &decoder)
        return value
    }
}
