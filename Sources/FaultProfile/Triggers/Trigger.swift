/// A trigger: a key of `when`, in the file of its name.
///
/// `Condition.triggers` is the registry. Reading, writing, the schema, the tables of keys, the sentence of `squall plan`,
/// `when` of a whole profile and the choice of connections follow from the definition.
package struct Trigger: Sendable {
    /// What the trigger narrows a fault to, and where that is decided.
    enum Scope: Sendable {
        /// Some proxies, by `Profile.narrowed`.
        case proxies
        /// Some connections, by the function. It is asked when a connection is accepted, and again when a host is known.
        case connections(@Sendable (Condition, Candidate) -> Bool)
        /// Some ages of a connection, by `Window` of `FaultPlan`.
        case ages
        /// Some times of the proxy's clock, by `Window` of `FaultPlan`.
        case times
        /// Connections accepted after an event, by `TriggerFlags` of `FaultPlan`.
        case events
        /// Some HTTP messages, by `MessageFilter` of `FaultPlan`.
        case messages

        /// Whether all connections have the fault alike.
        var isForEverybody: Bool {
            switch self {
            case .proxies, .times, .events: true
            case .connections, .ages, .messages: false
            }
        }
    }

    let field: Field<Condition>
    let scope: Scope
    /// The fact about a connection that decides, if it isn't known of every connection.
    let fact: ConnectionFacts.Kind?
    /// Copies the trigger from a whole profile's condition; `nil` if a profile's can't have it.
    let copy: (@Sendable (inout Condition, _ other: Condition) -> Void)?
    /// The clause of a condition that has the trigger: "to port 443".
    let sentence: @Sendable (Condition) -> String

    /// Makes a trigger; `text` is its meaning, as a clause.
    init(
        _ field: Field<Condition>,
        _ text: String,
        _ scope: Scope,
        fact: ConnectionFacts.Kind? = nil,
        copy: (@Sendable (inout Condition, _ other: Condition) -> Void)? = nil,
        sentence: @escaping @Sendable (Condition) -> String
    ) {
        self.field = field.explained(text)
        (self.scope, self.fact, self.copy, self.sentence) = (scope, fact, copy, sentence)
    }

    /// Makes a trigger by a list of values, of which one must hold for the facts about a connection; empty for every connection.
    /// Its sentence is `words` and the `name`s of the values.
    @_semantics("optimize.sil.specialize.generic.never")
    static func list<Value: Hashable & Sendable>(
        _ key: String,
        _ path: WritableKeyPath<Condition, [Value]> & Sendable,
        _ form: Form<[Value]>,
        _ text: String,
        fact: ConnectionFacts.Kind,
        holds: @escaping @Sendable (Value, ConnectionFacts) -> Bool,
        sentence words: String,
        name: @escaping @Sendable (Value) -> String
    ) -> Trigger {
        Trigger(
            .optional(key, path, form, default: [], fallback: "all"),
            text,
            .connections { condition, connection in
                condition[keyPath: path].contains { holds($0, connection.facts) }
            },
            fact: fact,
            copy: { $0[keyPath: path] = $1[keyPath: path] },
            sentence: { "\(words) \($0[keyPath: path].map(name).joined(separator: " and "))" }
        )
    }

    func isSet(in condition: Condition) -> Bool { field.write(condition) != nil }
}
