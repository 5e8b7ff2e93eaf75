extension JSONNode {
    /// The member of a key; `nil` if it is absent or `null`.
    package subscript(key: String) -> JSONNode? {
        guard let node = members.first(where: { $0.key == key })?.node else { return nil }
        if case .null = node.value { return nil }
        return node
    }

    /// The elements of a list; none of anything else.
    package var elements: [JSONNode] { if case .array(let nodes) = value { nodes } else { [] } }

    /// A text, a number or a truth value as it is shown; `-` for anything else.
    package var cell: String {
        switch value {
        case .text(let text): text
        case .number(let digits): digits
        case .boolean(let flag): flag ? "true" : "false"
        case .object, .array, .null, .unreadable: "-"
        }
    }

    /// The number, or 0.
    package var number: Double { if case .number(let digits) = value { Double(digits) ?? 0 } else { 0 } }

    /// The number as a count: the closest one, from 0 on.
    package var count: Int { number > 0 ? Int(exactly: number.rounded(.down)) ?? .max : 0 }

    package var isTrue: Bool { if case .boolean(true) = value { true } else { false } }

    package var compactText: String { jsonText.compact }

    /// An object as compact JSON without the members of some keys.
    package func compactText(without keys: Set<String>) -> String {
        JSONText.object(members.filter { !keys.contains($0.key) }.map { ($0.key, $0.node.jsonText) }).compact
    }

    private var jsonText: JSONText {
        switch value {
        case .object(let members): .object(members.map { ($0.key, $0.node.jsonText) })
        case .array(let nodes): .array(nodes.map(\.jsonText))
        case .text(let text): .text(text)
        case .number(let digits): .literal(digits)
        case .boolean(let flag): .flag(flag)
        case .null, .unreadable: .null
        }
    }
}
