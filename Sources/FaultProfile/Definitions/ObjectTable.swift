import Units

/// A key of an object that is read into, and written from, a `Root`.
struct Field<Root: Sendable>: Sendable {
    let shape: KeyShape
    /// Reads the key; returns whether it had a readable value.
    let read: @Sendable (inout Root, CheckedObject, inout ProfileDecoder) -> Bool
    /// The value to write; `nil` omits the key.
    let write: @Sendable (Root) -> JSONText?

    /// A key with a getter and a setter; `get` returns `nil` to omit the key.
    ///
    /// - Parameter fallback: the default, for the pages.
    @_semantics("optimize.sil.specialize.generic.never")
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
                guard let value = decoder.read(form, object, name) else { return false }
                set(&root, value)
                return true
            },
            write: { get($0).map(form.write) }
        )
    }

    /// The key with its meaning, a clause.
    @_semantics("optimize.sil.specialize.generic.never")
    func explained(_ text: String) -> Field {
        var shape = shape
        shape.text = text
        return Field(shape: shape, read: read, write: write)
    }

    @_semantics("optimize.sil.specialize.generic.never")
    static func required<Value: Sendable>(
        _ name: String,
        _ path: WritableKeyPath<Root, Value> & Sendable,
        _ form: Form<Value>
    ) -> Field {
        part(name, form, isRequired: true, get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 })
    }

    /// A key with a default, omitted when it has that value.
    @_semantics("optimize.sil.specialize.generic.never")
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

    /// A key with a default that is always written.
    @_semantics("optimize.sil.specialize.generic.never")
    static func written<Value: Sendable>(
        _ name: String,
        _ path: WritableKeyPath<Root, Value> & Sendable,
        _ form: Form<Value>,
        default value: Value
    ) -> Field {
        part(name, form, fallback: form.marked(value), get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 })
    }

    /// An optional key without a default.
    @_semantics("optimize.sil.specialize.generic.never")
    static func optional<Value: Sendable>(
        _ name: String,
        _ path: WritableKeyPath<Root, Value?> & Sendable,
        _ form: Form<Value>,
        fallback: String = ""
    ) -> Field {
        part(name, form, fallback: fallback, get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 })
    }

    /// One of several keys for the cases of an enumeration.
    @_semantics("optimize.sil.specialize.generic.never")
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
    /// A value for the pages: “`"0 s"`”, “`reset`”, “empty”.
    @_semantics("optimize.sil.specialize.generic.never")
    fileprivate func marked(_ value: Value) -> String {
        switch write(value) {
        case .text(""): "empty"
        case .object(let members) where members.isEmpty: "empty"
        case .text(let word) where shape.name == nil: "`\(word)`"
        case let other: "`\(other.compact)`"
        }
    }
}

/// The keys of an object: reads, writes and describes it.
struct ObjectTable<Root: Sendable>: Sendable {
    /// The keys for the reader's messages, the schema and the pages.
    let shape: ObjectShape
    /// The initial value that keys are read into.
    let blank: Root
    let fields: [Field<Root>]
    /// Keys written before the others.
    let writtenFirst: [String]

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - title: the object with its article; a kind of fault has its own.
    ///   - definition: the name of its definition in the schema.
    ///   - texts: the meanings of the keys, a line "key: meaning" for each that has none.
    ///   - oneOf: keys of which exactly one must be given, with an example.
    ///   - rules: further rules of the schema.
    @_semantics("optimize.sil.specialize.generic.never")
    init(
        _ blank: Root,
        title: String = "",
        definition: String = "",
        texts: String = "",
        oneOf: (keys: [String], example: String)? = nil,
        rules: [(key: String, value: JSONText)] = [],
        writtenFirst: [String] = [],
        _ fields: [Field<Root>]
    ) {
        self.blank = blank
        self.fields = fields
        self.writtenFirst = writtenFirst
        shape = ObjectShape(
            title: title,
            keys: fields.map(\.shape),
            definition: definition,
            oneOf: oneOf?.keys ?? [],
            oneOfExample: oneOf?.example ?? "",
            rules: rules
        ).explained(texts)
    }

    /// Reads an object whose keys have been checked; `nil` if a required key is missing, which has been reported. Keys with
    /// unreadable values are added to `unread`.
    @_semantics("optimize.sil.specialize.generic.never")
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
            // The first of several counts.
            if !isOneOf || !hasOne { root = changed }
            if isOneOf { hasOne = true }
        }
        return isMissing || !hasOne ? nil : root
    }

    /// The keys of a value, in JSON.
    @_semantics("optimize.sil.specialize.generic.never")
    func written(_ root: Root) -> [(key: String, value: JSONText)] {
        let members = fields.compactMap { field in field.write(root).map { (key: field.shape.name, value: $0) } }
        guard !writtenFirst.isEmpty else { return members }
        let first = writtenFirst.compactMap { key in members.first { $0.key == key } }
        return first + members.filter { !writtenFirst.contains($0.key) }
    }

    /// Reads a node that must be an object with these keys.
    @_semantics("optimize.sil.specialize.generic.never")
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
