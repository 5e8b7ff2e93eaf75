import FaultProfile

/// The form of a value, as a JSON Schema (2020-12).
indirect enum OpenAPIForm: Sendable {
    case text, number, flag, null
    /// An object with any members.
    case map
    case words([String])
    case list(OpenAPIForm)
    /// A schema by its name.
    case named(String)
    case object(KeyValuePairs<String, OpenAPIForm>, required: [String])
    case either([OpenAPIForm])

    static func full(_ members: KeyValuePairs<String, OpenAPIForm>) -> OpenAPIForm {
        .object(members, required: members.map(\.key))
    }

    /// The form, or null.
    var orNull: OpenAPIForm { .either([self, .null]) }

    /// The schema.
    var json: JSONText {
        switch self {
        case .text: OpenAPIForm.type("string")
        case .number: OpenAPIForm.type("integer")
        case .flag: OpenAPIForm.type("boolean")
        case .null: OpenAPIForm.type("null")
        case .map: OpenAPIForm.type("object")
        case .words(let words): .object([("type", .text("string")), ("enum", .array(words.map(JSONText.text)))])
        case .list(let form): .object([("type", .text("array")), ("items", form.json)])
        case .named(let name): OpenAPIDocument.reference(name)
        case .either(let forms): .object([("anyOf", .array(forms.map(\.json)))])
        case .object(let members, let required):
            .object([
                ("type", .text("object")), ("properties", .object(members.map { ($0.key, $0.value.json) })),
                ("required", .array(required.map(JSONText.text))),
            ])
        }
    }

    private static func type(_ name: String) -> JSONText { .object([("type", .text(name))]) }
}
