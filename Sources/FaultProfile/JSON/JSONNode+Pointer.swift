import Units

extension JSONNode {
    /// The JSON Pointer (RFC 6901) to the value that begins at a place, or whose key does; `nil` if none does.
    package func pointer(toLine line: Int, column: Int) -> String? {
        let wanted = Place(line: line, column: column)
        if place.place == wanted { return "" }
        switch value {
        case .object(let members):
            // The last that begins before the place contains it.
            guard let member = members.last(where: { $0.place.place <= wanted }) else { return nil }
            let token = member.key.pointerToken
            if member.place.place == wanted { return "/\(token)" }
            return member.node.pointer(toLine: line, column: column).map { "/\(token)\($0)" }
        case .array(let elements):
            guard let index = elements.lastIndex(where: { $0.place.place <= wanted }) else { return nil }
            return elements[index].pointer(toLine: line, column: column).map { "/\(index)\($0)" }
        case .text, .number, .boolean, .null, .unreadable:
            return nil
        }
    }
}

extension String {
    /// A key as a token of a JSON Pointer (RFC 6901 §3): “~” is “~0”, and “/” is “~1”.
    fileprivate var pointerToken: String { replacing("~", with: "~0").replacing("/", with: "~1") }
}
