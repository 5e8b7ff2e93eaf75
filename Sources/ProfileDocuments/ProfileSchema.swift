import FaultProfile

/// The schema of profiles for editors, made from the tables that the reader goes by.
public enum ProfileSchema {
    private typealias Members = [(key: String, value: JSONText)]

    /// The text of `Profiles/profile.schema.json`.
    public static var text: String { schema.spread(width: 118) + "\n" }

    /// The text of `Profiles/presets.schema.json`: a file of presets, by the definitions of the other schema.
    public static var presetsText: String {
        let schema = JSONText.object([
            ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
            ("title", .text("Squall presets")),
            ("description", .text("Profiles of one source, each found by its name.")),
            ("$ref", .text("profile.schema.json#/$defs/presetFile")),
        ])
        return schema.spread(width: 118) + "\n"
    }

    private static let description =
        "Which faults a proxy inflicts, on which connections and when. "
        + "Values carry their units: \"250 ms\", \"20 Mbit/s\", \"64 KiB\", \"2 %\"."

    private static var schema: JSONText {
        .object([
            ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
            ("title", .text("Squall profile")),
            ("description", .text(description)),
            ("$ref", .text("#/$defs/profile")),
            ("$defs", .object(definitions)),
        ])
    }

    private static var definitions: Members {
        let kinds = FaultKind.Name.allCases
        let shapes = ObjectShape.objects + kinds.map(\.shape)
        let references = kinds.map { JSONText.definition($0.rawValue) }
        let objects: Members = shapes.map { (key: $0.definition, value: definition(of: $0)) }
        return objects + [(key: "fault", value: .object([("oneOf", .array(references))]))]
            + values(of: shapes, besides: Set(shapes.map(\.definition)))
    }

    /// The definitions of faults and profiles for a document that has them under `prefix`: those of `roots`, and those that
    /// they refer to.
    ///
    /// - Parameter prefix: what stands before a name in a reference, such as `#/components/schemas/`.
    package static func definitions(of roots: [String], under prefix: String) -> [(key: String, value: JSONText)] {
        let known = Dictionary(definitions.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
        var found: Set<String> = []
        var next = roots
        while let name = next.popLast() {
            if found.insert(name).inserted, let definition = known[name] { next += definition.references }
        }
        return found.sorted().compactMap { name in known[name].map { (name, $0.referring(to: prefix)) } }
    }

    /// The definitions of the values that keys have, by their names.
    private static func values(of shapes: [ObjectShape], besides objects: Set<String>) -> Members {
        var definitions: [String: JSONText] = [:]
        let forms = shapes.flatMap(\.keys).map(\.form)
        for form in forms + forms.flatMap(\.elements) + ValueForm.parts {
            if let name = form.name, !objects.contains(name) { definitions[name] = form.schema }
        }
        return definitions.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value) }
    }

    private static func definition(of shape: ObjectShape) -> JSONText {
        var members: Members = []
        if !shape.summary.isEmpty { members.append(("description", .text(shape.summary))) }
        let required = shape.keys.filter(\.isRequired).map { JSONText.text($0.name) }
        members += [
            ("type", .text("object")), ("additionalProperties", .flag(false)), ("required", .array(required)),
        ]
        if !shape.oneOf.isEmpty { members.append(("oneOf", .array(shape.oneOf.map { .requires($0) }))) }
        members.append(
            ("properties", .object(shape.keys.map { (key: $0.name, value: property($0, of: shape)) }))
        )
        return .object(members + shape.rules)
    }

    private static func property(_ key: KeyShape, of shape: ObjectShape) -> JSONText {
        if key.name == "kind" { return .object([("const", .text(shape.definition))]) }
        let form: Members =
            if let name = key.form.name {
                [("$ref", .text("#/$defs/\(name)"))]
            } else if case .object(let members) = key.form.schema {
                members
            } else {
                []
            }
        return .object(form + [("description", .text(sentence(key)))])
    }

    /// What a key means, and what it is when it's left out, without the marks of a page.
    private static func sentence(_ key: KeyShape) -> String {
        var text = plain(key.text)
        text = text.prefix(1).uppercased() + text.dropFirst() + "."
        return key.fallback.isEmpty ? text : text + " Default: \(plain(key.fallback))."
    }

    private static func plain(_ text: String) -> String {
        text.replacing("`", with: "").replacing(/\[([^\]]*)\]\([^)]*\)/) { String($0.output.1) }
    }
}

extension JSONText {
    /// What stands before the name of a definition in a reference.
    private static let prefix = "#/$defs/"

    /// The names of the definitions that the value refers to.
    fileprivate var references: [String] {
        switch self {
        case .object(let members):
            members.flatMap { key, value -> [String] in
                guard key == "$ref", case .text(let text) = value else { return value.references }
                return [String(text.dropFirst(JSONText.prefix.count))]
            }
        case .array(let values): values.flatMap(\.references)
        case .text, .number, .signed, .flag, .null, .literal: []
        }
    }

    /// The value with `prefix` before the names that it refers to.
    fileprivate func referring(to prefix: String) -> JSONText {
        switch self {
        case .object(let members):
            .object(
                members.map { key, value -> (key: String, value: JSONText) in
                    guard key == "$ref", case .text(let text) = value else { return (key, value.referring(to: prefix)) }
                    return (key, .text(text.replacing(JSONText.prefix, with: prefix)))
                }
            )
        case .array(let values): .array(values.map { $0.referring(to: prefix) })
        case .text, .number, .signed, .flag, .null, .literal: self
        }
    }

    /// The value with a line for each member or element of what doesn't fit on a line of `width` characters.
    fileprivate func spread(width: Int, indent: Int = 0, behind taken: Int = 0) -> String {
        let line = oneLine
        if indent + taken + line.count <= width { return line }
        let inner = String(repeating: " ", count: indent + 2)
        let parts: [String]
        let brackets: (open: String, close: String)
        switch self {
        case .object(let members):
            brackets = ("{", "}")
            parts = members.map { member in
                let key = JSONText.text(member.key).compact + ": "
                return key + member.value.spread(width: width, indent: indent + 2, behind: key.count + 1)
            }
        case .array(let values):
            brackets = ("[", "]")
            parts = values.map { $0.spread(width: width, indent: indent + 2, behind: 1) }
        case .text, .number, .signed, .flag, .null, .literal:
            return line
        }
        let outer = String(repeating: " ", count: indent)
        return brackets.open + "\n" + parts.map { inner + $0 }.joined(separator: ",\n") + "\n\(outer)\(brackets.close)"
    }

    private var oneLine: String {
        switch self {
        case .object(let members) where !members.isEmpty:
            "{ " + members.map { "\(JSONText.text($0.key).compact): \($0.value.oneLine)" }.joined(separator: ", ")
                + " }"
        case .array(let values): "[" + values.map(\.oneLine).joined(separator: ", ") + "]"
        case .object, .text, .number, .signed, .flag, .null, .literal: compact
        }
    }
}
