@testable import FaultProfile

/// A validator of the part of JSON Schema 2020-12 that the profile's schema uses. It refuses a schema
/// with any other keyword, so that nothing in it goes untested.
struct SchemaValidator {
    struct UnknownKeyword: Error {
        let keyword: String
    }

    let root: JSONNode

    /// Reads a schema.
    init(_ bytes: [UInt8]) throws {
        root = try parsed(bytes)
    }

    /// Whether a document satisfies the schema.
    func accepts(_ document: JSONNode) throws -> Bool {
        try isValid(document, root)
    }

    /// Whether a document satisfies a definition of the schema.
    func accepts(_ document: JSONNode, as name: String) throws -> Bool {
        guard let definition = definition(name) else { throw UnknownKeyword(keyword: name) }
        return try isValid(document, definition)
    }

    /// A definition by its name.
    func definition(_ name: String) -> JSONNode? { root["$defs"]?[name] }

    private func isValid(_ node: JSONNode, _ schema: JSONNode) throws -> Bool {
        guard case .object(let keywords) = schema.value else { throw UnknownKeyword(keyword: schema.value.form) }
        for keyword in keywords where try !holds(keyword.key, keyword.node, of: schema, for: node) {
            return false
        }
        return true
    }

    private func holds(_ keyword: String, _ value: JSONNode, of schema: JSONNode, for node: JSONNode) throws -> Bool {
        switch keyword {
        case "$schema", "$defs", "title", "description", "then", "else": return true
        case "$ref": return try isValid(node, try referenced(value))
        case "type": return isOfType(node, value.text ?? "")
        case "const": return isSame(node, value)
        case "not": return try !isValid(node, value)
        case "enum": return node.text.map { word in value.elements.contains { $0.text == word } } ?? false
        case "oneOf": return try value.elements.filter { try isValid(node, $0) }.count == 1
        case "if":
            let branch = schema[try isValid(node, value) ? "then" : "else"]
            return try branch.map { try isValid(node, $0) } ?? true
        case "items": return try node.elements.allSatisfy { try isValid($0, value) }
        default: return try holdsLimit(keyword, value, of: schema, for: node)
        }
    }

    private func holdsLimit(
        _ keyword: String,
        _ value: JSONNode,
        of schema: JSONNode,
        for node: JSONNode
    ) throws -> Bool {
        switch (keyword, node.value) {
        case ("required", .object): return value.elements.allSatisfy { node[$0.text ?? ""] != nil }
        case ("properties", .object(let members)):
            return try members.allSatisfy { member in try value[member.key].map { try isValid(member.node, $0) } ?? true
            }
        case ("additionalProperties", .object(let members)):
            let others = members.filter { schema["properties"]?[$0.key] == nil }
            guard case .object = value.value else { return others.isEmpty }
            return try others.allSatisfy { try isValid($0.node, value) }
        case ("maxProperties", .object(let members)): return members.count <= number(value)
        case ("minProperties", .object(let members)): return members.count >= number(value)
        case ("propertyNames", .object(let members)):
            return try members.allSatisfy { try isValid(JSONNode(value: .text($0.key), place: $0.place), value) }
        case ("minItems", .array(let nodes)): return nodes.count >= number(value)
        case ("maxItems", .array(let nodes)): return nodes.count <= number(value)
        case ("minLength", .text(let text)): return text.unicodeScalars.count >= number(value)
        case ("maxLength", .text(let text)): return text.unicodeScalars.count <= number(value)
        case ("minimum", .number(let digits)):
            return digits.hasPrefix("-") ? UInt64(wholeNumber: digits) == 0 : whole(digits) >= whole(value)
        case ("maximum", .number(let digits)): return digits.hasPrefix("-") || whole(digits) <= whole(value)
        case ("pattern", .text(let text)):
            // Anchored by a whole match: "$" must not match in front of a line break at the end.
            let regex = try Regex(value.text ?? "").matchingSemantics(.unicodeScalar)
            return text.wholeMatch(of: regex) != nil
        case ("required", _), ("properties", _), ("additionalProperties", _), ("maxProperties", _),
            ("minProperties", _), ("propertyNames", _), ("minItems", _), ("maxItems", _),
            ("minLength", _), ("maxLength", _), ("minimum", _), ("maximum", _), ("pattern", _):
            return true
        default: throw UnknownKeyword(keyword: keyword)
        }
    }

    private func referenced(_ reference: JSONNode) throws -> JSONNode {
        let text = reference.text ?? ""
        guard text.hasPrefix("#/$defs/"), let definition = definition(String(text.dropFirst(8))) else {
            throw UnknownKeyword(keyword: "$ref \(text)")
        }
        return definition
    }

    private func isOfType(_ node: JSONNode, _ type: String) -> Bool {
        switch (type, node.value) {
        case ("object", .object), ("array", .array), ("string", .text), ("boolean", .boolean), ("number", .number): true
        case ("integer", .number(let digits)):
            UInt64(wholeNumber: digits.hasPrefix("-") ? "\(digits.dropFirst())" : digits) != nil
        default: false
        }
    }

    /// Whether two texts, or two whole numbers, are the same.
    private func isSame(_ node: JSONNode, _ other: JSONNode) -> Bool {
        switch (node.value, other.value) {
        case (.text(let text), .text(let expected)): text == expected
        case (.number(let digits), .number(let expected)): UInt64(wholeNumber: digits) == UInt64(wholeNumber: expected)
        default: false
        }
    }

    private func number(_ node: JSONNode) -> Int {
        if case .number(let digits) = node.value, let number = Int(digits) { number } else { -1 }
    }

    private func whole(_ node: JSONNode) -> UInt64 {
        if case .number(let digits) = node.value { whole(digits) } else { .max }
    }

    /// Numbers beyond 64 bits aren't whole numbers by `isOfType`, so what they count for is the same.
    private func whole(_ digits: String) -> UInt64 { UInt64(wholeNumber: digits) ?? .max }
}

/// A JSON document for a test.
func parsed(_ bytes: [UInt8]) throws -> JSONNode {
    var problems = ProblemList()
    let file = problems.addFile("document")
    let node = JSONReader.read(bytes, file: file, problems: &problems)
    if let found = problems.result() { throw found }
    guard let node else { throw ProfileProblems(problems: []) }
    return node
}
